"""Where ``make web`` puts the page and the widget."""

from __future__ import annotations

from pathlib import Path

BUILT = Path(__file__).with_name("web")
WIDGET = BUILT / "widget.js"
