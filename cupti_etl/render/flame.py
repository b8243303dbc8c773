"""A flame graph as SVG: what a path leads to, as wide as its value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cupti_etl.render.escape import html_text
from cupti_etl.render.values import duration

_WIDE, _ROW, _LETTER = 900.0, 17, 6.2
# What is narrower is not seen, and what is inside it neither.
_LEAST = 0.7
_COLOURS = ("#e8a15c", "#e6b86a", "#dd8f52", "#e3a97c", "#d99a45")


@dataclass
class _Frame:
    value: int = 0
    inside: dict[str, _Frame] = field(default_factory=dict)


def flame_graph(paths: Sequence[tuple[str, int]], label: str) -> str:
    """The picture; "" where there is nothing to show.

    Args:
        paths: parts with ";" between them, the outermost first, and how long each took, in ns.
        label: what it is called.
    """
    root = _Frame()
    for path, value in paths:
        frame = root
        frame.value += value
        for part in path.split(";"):
            frame = frame.inside.setdefault(part, _Frame())
            frame.value += value
    if root.value <= 0:
        return ""
    boxes = list(_boxes(root, 0.0, 0, root.value))
    height = (max(depth for _, _, depth, _, _ in boxes) + 1) * _ROW
    shapes = "".join(
        _box(x, width, depth, name, value, root.value) for x, width, depth, name, value in boxes
    )
    return (
        f'<svg class="flame" viewBox="0 0 {_WIDE:.0f} {height}" role="img"'
        f' aria-label="{html_text(label)}">{shapes}</svg>'
    )


def _boxes(
    frame: _Frame, x: float, depth: int, total: int
) -> Iterator[tuple[float, float, int, str, int]]:
    # Side by side in the order of their names, so that two pictures can be compared.
    for name, inner in sorted(frame.inside.items()):
        width = inner.value / total * _WIDE
        if width >= _LEAST:
            yield x, width, depth, name, inner.value
            yield from _boxes(inner, x, depth + 1, total)
        x += width


def _box(x: float, width: float, depth: int, name: str, value: int, total: int) -> str:
    letters = int((width - 6) / _LETTER)
    text = name if len(name) <= letters else f"{name[: letters - 1]}…" if letters > 3 else ""
    colour = _COLOURS[sum(map(ord, name)) % len(_COLOURS)]
    title = html_text(f"{name}: {duration(value)}, {100 * value / total:.1f} %")
    label = (
        f'<text x="{x + 3:.1f}" y="{depth * _ROW + 12}">{html_text(text)}</text>' if text else ""
    )
    return (
        f'<g><title>{title}</title><rect x="{x:.1f}" y="{depth * _ROW}"'
        f' width="{max(width - 0.5, 0.3):.1f}" height="{_ROW - 1}" fill="{colour}"/>{label}</g>'
    )
