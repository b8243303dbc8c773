"""A little of PyTorch: what ``inprocess/pytorch.py`` touches, and operators that do nothing.

Functions, attributes and the order of calls are those of PyTorch 2.13.  ``lib/libtorch_cpu.so`` is
compiled from tests/native/fake_torch.c.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

__version__ = os.environ.get("FAKE_TORCH_VERSION", "2.13.0+fake")
_native = ctypes.CDLL(str(Path(__file__).parent / "lib" / "libtorch_cpu.so"))
_INSIDE = ctypes.CFUNCTYPE(None)
FUNCTION, BACKWARD, USER = 0, 1, 7


def run(
    name: str,
    inside: Any = None,
    *,
    scope: int = FUNCTION,
    sequence: int = -1,
    inputs: int = 1,
    is_async: bool = False,
    keys: int = 1,
) -> None:
    """An operator, with others or launches inside; its last input has these dispatch keys."""
    error = []

    def guarded() -> None:
        try:
            inside()
        except BaseException as raised:
            error.append(raised)

    within = _INSIDE(guarded) if inside else _INSIDE()
    _native.fakeTorchRun(
        *(name.encode(), scope, ctypes.c_int64(sequence), inputs, int(is_async)),
        *(ctypes.c_uint64(keys), within),
    )
    if error:
        raise error[0]


class Tensor:
    """One that knows which operator made it."""

    def __init__(self, sequence: int | None, keys: int = 1 << 15) -> None:
        self.keys = keys
        self.requires_grad = sequence is not None
        self.grad_fn = SimpleNamespace(_sequence_nr=lambda: sequence)

    def detach(self) -> Tensor:
        """Without a gradient."""
        return Tensor(None)

    @staticmethod
    def _make_wrapper_subclass(
        cls: type, size: tuple[int, ...], *, dispatch_sizes_strides_policy: str | None
    ) -> Tensor:
        computes_sizes = dispatch_sizes_strides_policy == "sizes"
        return Tensor(None, 1 << 52 | (1 << 63 if computes_sizes else 0))


def zeros(*size: int, device: str = "cpu", requires_grad: bool = False) -> Tensor:
    """A tensor."""
    run("aten::zeros", inputs=2)
    keys = 1 << 20 if device == "meta" else 1 << 15
    return Tensor(0 if requires_grad else None, keys | _mode.keys)


def neg(given: Tensor) -> Tensor:
    """The operator that the sequence numbers are looked for with."""
    sequence = _native.fakeTorchNextSequence() if given.requires_grad else -1
    run("aten::neg", sequence=sequence, keys=given.keys)
    return Tensor(sequence if given.requires_grad else None)


class inference_mode:
    """In which tensors have other keys."""

    keys = 1 << 30

    def __enter__(self) -> None:
        _mode.keys = 0

    def __exit__(self, *_: object) -> None:
        _mode.keys = self.keys


_mode = SimpleNamespace(keys=inference_mode.keys)


def _keys(number: int) -> SimpleNamespace:
    return SimpleNamespace(raw_repr=lambda: number)


class Module:
    """As torch.nn.Module, as far as names and calls go."""

    def __init__(self) -> None:
        self._modules: dict[str, Module] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Module):
            self._modules[name] = value
        object.__setattr__(self, name, value)

    def named_modules(self, prefix: str = "") -> Any:
        """Itself and all inside, by their paths."""
        yield prefix, self
        for name, module in self._modules.items():
            yield from module.named_modules(f"{prefix}.{name}" if prefix else name)

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)  # type: ignore[attr-defined]

    __call__ = _wrapped_call_impl


skipped: list[Any] = []  # code that Dynamo passes over
nn = SimpleNamespace(Module=Module)
compiler = SimpleNamespace(is_compiling=lambda: False)
_C = SimpleNamespace(
    DispatchKey=SimpleNamespace(Python=1 << 52, NestedTensor=1 << 40),
    DispatchKeySet=_keys,
    _dispatch_keys=lambda tensor: _keys(tensor.keys),
    _dynamo=SimpleNamespace(
        eval_frame=SimpleNamespace(
            _FrameAction=SimpleNamespace(SKIP="skip", DEFAULT="default"),
            _FrameExecStrategy=lambda own, callees: (own, callees),
            set_code_exec_strategy=lambda code, strategy: skipped.append((code, strategy)),
        )
    ),
)
