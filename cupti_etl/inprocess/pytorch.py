"""Operators and modules of PyTorch as ranges, from inside the program.

Operators are observed by the injected library itself (native/inject/torch.c); modules by a
function around ``torch.nn.Module.__call__``.  This is imported by whatever Python the program runs
on: it needs the standard library alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Versions whose observers were tried; with others, operators are not recorded.
_OLDEST, _NEWEST = (2, 1), (2, 13)
_OPERATORS, _SIZES, _MODULES = 1, 2, 4  # enum etl_torch_observed
_PROBES = 6
# Tensors with one of these keys may compute their sizes in Python, or have none that an observer
# can ask for: those of torch.compile while it traces, nested ones, those of torch.func.
_OTHER_KEYS = (
    "Python", "PythonTLSSnapshot", "Functionalize", "FuncTorchBatched", "FuncTorchGradWrapper",
    "NestedTensor", "BatchedNestedTensor",
)  # fmt: skip


class NotObserved(Exception):
    """Why operators are not recorded."""


def begin_if_imported(injected: str, parts: str) -> Callable[[], None]:
    """As ``begin``, now or when PyTorch is imported; what to call in the end."""
    from cupti_etl.inprocess.torch_import import Waiting

    def then(torch: Any) -> None:
        begin(torch, injected, parts)

    waiting = Waiting(then)
    if "torch" in sys.modules:
        then(sys.modules["torch"])
    else:
        waiting.begin()

    def over() -> None:
        waiting.end()
        end(injected)

    return over


def begin_from_environment(torch: Any) -> None:
    """What the capture around this program has asked for."""
    begin(torch, os.environ["CUDA_INJECTION64_PATH"], os.environ["CUPTI_ETL_PYTORCH"])


def begin(torch: Any, injected: str, parts: str) -> None:
    """Record ranges in captures from now on.

    Args:
        torch: the module.
        injected: path of the injected library.
        parts: of ops, modules and shapes, with commas between.
    """
    library = _load(injected)
    wanted = set(parts.split(","))
    what = _MODULES if "modules" in wanted else 0
    try:
        if wanted & {"ops", "shapes"}:
            _look(torch, library)
            what |= _OPERATORS | (_SIZES if "shapes" in wanted else 0)
            if what & _SIZES:
                _look_at_keys(torch, library)
            _observe(library, what)
    except NotObserved as reason:
        library.cupti_etl_torch_note(f"PyTorch's operators are not recorded: {reason}".encode())
        what = _MODULES if "modules" in wanted else 0
    if what == _MODULES:
        _observe(library, what)
    if what & _MODULES:
        try:
            _modules.begin(torch, library)
        except AttributeError as error:
            library.cupti_etl_torch_note(f"PyTorch's modules are not recorded: {error}".encode())


def end(injected: str) -> None:
    """Record nothing more in captures that are to come."""
    _modules.end()
    _observe(_load(injected), 0)


def _load(path: str) -> Any:
    library = ctypes.PyDLL(path)  # it never waits, so the GIL need not be let go
    library.cupti_etl_torch_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    library.cupti_etl_torch_probe.argtypes = [ctypes.c_int64]
    library.cupti_etl_torch_observe.argtypes = [ctypes.c_int, ctypes.c_char_p]
    for function in (library.cupti_etl_torch_note, library.cupti_etl_torch_module_push):
        function.argtypes = [ctypes.c_char_p]
        function.restype = None
    library.cupti_etl_torch_look_at_keys.argtypes = [ctypes.c_uint64, ctypes.c_char_p]
    library.cupti_etl_torch_probe_keys.argtypes = [ctypes.c_uint64]
    library.cupti_etl_torch_probe_keys.restype = None
    library.cupti_etl_torch_probe_flags.argtypes = [ctypes.c_int]
    library.cupti_etl_torch_probe_flags.restype = None
    library.cupti_etl_torch_module_pop.restype = None
    library.cupti_etl_torch_probe.restype = None
    return library


def _check(code: int, error: Any) -> None:
    if code < 0:
        raise NotObserved(error.value.decode())


def _look(torch: Any, library: Any) -> None:
    """Let the library see operators whose sequence number is known."""
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if not _OLDEST <= version <= _NEWEST:
        raise NotObserved(
            f"PyTorch {torch.__version__} is not one of {_OLDEST[0]}.{_OLDEST[1]} to"
            f" {_NEWEST[0]}.{_NEWEST[1]}, whose observers are known"
        )
    path = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    error = ctypes.create_string_buffer(512)
    _check(library.cupti_etl_torch_open(bytes(path), error), error)
    given = torch.zeros(1, device="cpu", requires_grad=True)
    for _ in range(_PROBES):
        made = torch.neg(given)
        library.cupti_etl_torch_probe(made.grad_fn._sequence_nr())
        torch.neg(given.detach())  # which has none, and counts elsewhere


def _look_at_keys(torch: Any, library: Any) -> None:
    """Let the library see tensors whose dispatch keys are known; without, it asks for no sizes."""
    try:
        key, keys = torch._C.DispatchKey, torch._C.DispatchKeySet
        others = 0
        for name in _OTHER_KEYS:
            if hasattr(key, name):
                others |= keys(getattr(key, name)).raw_repr()
        tensors = [torch.zeros(1, device="cpu"), torch.zeros(1, device="meta")]
        with torch.inference_mode():
            tensors.append(torch.zeros(1, device="cpu"))
        known = [(each, torch._C._dispatch_keys(each).raw_repr()) for each in tensors]
        # All there at once, so that each lies elsewhere, and in no order that addresses can have.
        make = _make_wrappers(torch)
        wrappers = [(each == "1", make(each == "1")) for each in "0110100110010110" * 2]
    except (AttributeError, TypeError, RuntimeError):  # this version has no such function
        return
    error = ctypes.create_string_buffer(512)
    _check(library.cupti_etl_torch_look_at_keys(others, error), error)
    # A mode of the program's own may refuse them; with too few seen, no sizes are asked for.
    with contextlib.suppress(RuntimeError, TypeError):
        for each, own in 2 * known:
            torch.neg(each)
            library.cupti_etl_torch_probe_keys(own)
        for computes_sizes, each in wrappers:
            torch.neg(each)
            library.cupti_etl_torch_probe_flags(computes_sizes)


def _make_wrappers(torch: Any) -> Callable[[bool], Any]:
    """Makes tensors whose operators, and sizes if that is asked for, are computed in Python."""

    class Wrapper(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_dispatch__(cls, *_: Any, **__: Any) -> Any:
            return torch.zeros(1, device="cpu")

    def make(computes_sizes: bool) -> Any:
        policy = "sizes" if computes_sizes else None
        return torch.Tensor._make_wrapper_subclass(
            Wrapper, (1,), dispatch_sizes_strides_policy=policy
        )

    return make


def _observe(library: Any, what: int) -> None:
    error = ctypes.create_string_buffer(512)
    _check(library.cupti_etl_torch_observe(what, error), error)


def _let_dynamo_pass(torch: Any, code: Any) -> None:
    """Dynamo begins with what is called by some code, and not with that itself."""
    frames = torch._C._dynamo.eval_frame
    if hasattr(frames, "skip_code"):  # until PyTorch 2.6
        frames.skip_code(code)
    else:
        skip, default = frames._FrameAction.SKIP, frames._FrameAction.DEFAULT
        frames.set_code_exec_strategy(code, frames._FrameExecStrategy(skip, default))


class _Modules:
    """Ranges around each call of a module, named by its place in the outermost one.

    The range of ``model.layers[3].mlp`` is ``nn.Module: Llama.layers.3.mlp (LlamaMLP)``.

    Hooks that PyTorch offers for all modules would do for that, but with them each call takes
    several times as long, ``torch.compile`` warns, and Dynamo compiles them.
    """

    def __init__(self) -> None:
        self._names: dict[int, tuple[Any, bytes]] = {}  # by id, while the module lives
        self._roots: dict[str, int] = {}  # how many of a class
        self._end: Callable[[], None] | None = None

    def begin(self, torch: Any, library: Any) -> None:
        """Put a function around ``Module.__call__``."""
        if self._end is not None:
            return
        names, learn, call = self._names, self._learn, torch.nn.Module.__call__
        push, pop = library.cupti_etl_torch_module_push, library.cupti_etl_torch_module_pop
        is_compiling = torch.compiler.is_compiling

        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():  # what Dynamo traces ends here
                return call(self, *args, **kwargs)
            known = names.get(id(self))
            push(known[1] if known and known[0]() is self else learn(self))
            try:
                return call(self, *args, **kwargs)
            finally:
                pop()

        _let_dynamo_pass(torch, __call__.__code__)
        torch.nn.Module.__call__ = __call__

        def end() -> None:
            if torch.nn.Module.__call__ is __call__:  # else somebody else has put theirs around it
                torch.nn.Module.__call__ = call

        self._end = end

    def end(self) -> None:
        """Take it away."""
        if self._end is not None:
            self._end()
        self._end = None
        self._names.clear()

    def _learn(self, root: Any) -> bytes:
        """Names of a module that is in no other, as far as is known, and of all in it."""
        root_name = self._root_name(root)
        for path, module in list(root.named_modules()):
            own = ".".join(part for part in path.split(".") if part != "_orig_mod")
            name = f"{root_name}.{own}" if own else root_name
            if hasattr(module, "_orig_mod"):  # of torch.compile, around the module itself
                name = f"compiled {name}"
            text = f"nn.Module: {name} ({type(module).__name__})".encode()
            self._names[id(module)] = (weakref.ref(module, self._forget(id(module))), text)
        return self._names[id(root)][1]

    def _forget(self, key: int) -> Callable[[Any], object]:
        return lambda _: self._names.pop(key, None)

    def _root_name(self, root: Any) -> str:
        """Its class, and a number from the second of a class on."""
        name = type(getattr(root, "_orig_mod", root)).__name__
        if getattr(root, "_is_replica", False):  # one of DataParallel's, made for each call
            return name
        number = self._roots.get(name, 0)
        self._roots[name] = number + 1
        return f"{name}_{number}" if number else name


_modules = _Modules()
