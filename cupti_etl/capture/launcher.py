"""Starts the traced program and passes its signals and exit status through."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from cupti_etl.capture.signal_witness import Witness
from cupti_etl.config import (
    CUDA_INJECTION,
    ENVIRONMENT,
    NCCL_PLUGIN,
    NVTX_INJECTION,
    RANGE_CACHE_CONTROLS,
    CaptureOptions,
)
from cupti_etl.errors import UsageError
from cupti_etl.native.cupti_search import find_cupti
from cupti_etl.native.loader import inject_library_path
from cupti_etl.schema.callbacks import selection
from cupti_etl.schema.loss import Loss
from cupti_etl.signals import known

# What each Python of the program imports at its start, with --pytorch.
_STARTUP = Path(__file__).parents[1] / "inprocess" / "startup"
# Signals that are the program's business, not ours.
_FORWARDED = known("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
# siginfo's si_code of a signal that the kernel sent, such as for Ctrl-C on a terminal.
_SI_KERNEL = 0x80


def target_settings(
    options: CaptureOptions, listener: Mapping[str, str], base: Mapping[str, str]
) -> dict[str, str]:
    """The variables that the injected library needs, by name; an empty one is to be unset.

    Args:
        options: of the capture.
        listener: how the collector is found, by the keys of ``config.ENVIRONMENT``.
        base: the environment that they go into.

    Raises:
        UsageError: another tool is injected already.
        NativeError: this installation has no native part.
    """
    library = str(inject_library_path())
    if base.get(ENVIRONMENT["SOCKET"][0]):
        raise UsageError(
            "this runs under another capture already", "one capture traces all its programs"
        )
    for name in (CUDA_INJECTION, NVTX_INJECTION):
        if base.get(name) and base[name] != library:
            raise UsageError(
                f"another tool is to be injected already: {name}={base[name]}",
                "run without the other profiler, or unset the variable",
            )
    ranges, sass = options.range_metrics, options.sass_metrics
    settings = {
        **listener,
        "KINDS": ",".join(options.kinds),
        "API": options.api,
        "GRAPH": options.graph,
        "SERIALIZED": _serialized(options),
        "RECORDS": options.records,
        "ON_CONFLICT": options.on_conflict,
        "PYTHON_STACKS": options.python_stacks,
        "CALLBACKS": selection(options.callbacks),
        "PC_SAMPLING": _pc_sampling(options),
        "RANGE_METRICS": _range_metrics(options),
        "REPLAY_RUN": "1" if ranges and ranges.replay == "application" else "",
        "RANGE_FILTER": ranges.filter if ranges else "",
        "SASS_METRICS": ",".join(sass.metrics) if sass else "",
        "SASS_FILTER": sass.filter if sass else "",
        "PYTORCH": ",".join(options.pytorch),
        "NCCL": "" if options.nccl == "none" else options.nccl,
        "RANGE": options.capture_range,
        "ORDERS": "1" if options.budget else "",
        "FLUSH_MS": str(options.flush_ms),
        "RING_MB": str(options.buffer_mb),
        "CUPTI": str(options.cupti.resolve()) if options.cupti else "",
        "CUPTI_SEARCH": ":".join(str(copy.path) for copy in find_cupti(base)),
        "NO_ARGV": "" if options.argv else "1",
    }
    named = {ENVIRONMENT[key][0]: value for key, value in settings.items()}
    is_taken = options.nccl == "none" or other_nccl_plugin(options, base)
    plugin = {} if is_taken else {NCCL_PLUGIN: library}
    return {**named, **plugin, CUDA_INJECTION: library, NVTX_INJECTION: library}


def other_nccl_plugin(options: CaptureOptions, base: Mapping[str, str]) -> list[Loss]:
    """What is lost if the user has named another profiler plugin, which NCCL then loads."""
    named = base.get(NCCL_PLUGIN, "")
    if options.nccl == "none" or named in ("", str(inject_library_path())):
        return []
    detail = (
        f"operations of NCCL are not recorded, as {NCCL_PLUGIN}={named} is set; unset it to record"
        " them, or give --nccl none"
    )
    return [Loss(None, "nccl_refused", "nccl_event", detail=detail)]


def target_environment(settings: Mapping[str, str], base: Mapping[str, str]) -> dict[str, str]:
    """The environment of the traced program: ``base`` with ``target_settings()``."""
    settings = {**settings, **python_settings(settings, base)}
    environment = {name: value for name, value in base.items() if name not in settings}
    return environment | {name: value for name, value in settings.items() if value}


def _serialized(options: CaptureOptions) -> str:
    """Whether kernels are recorded one at a time.

    For its other records of kernels, CUPTI adds instructions to them (8 a warp on an H200), which
    counters of single launches would count.
    """
    asked = options.range_metrics
    return "1" if asked is not None and asked.by == "kernel" else ""


def _pc_sampling(options: CaptureOptions) -> str:
    """What ``native/inject/pc_sampling.c`` reads."""
    asked = options.pc_sampling
    if asked is None:
        return ""
    # Sampling may begin with a context only if the records of its kernels were switched on before,
    # and must end before they are switched on again.
    is_by_launch = bool(
        options.delay_ns or options.duration_ns or options.max_rows or options.max_bytes
    ) or (options.inside is not None)
    flags = (asked.mode == "serialized", is_by_launch, asked.cubins)
    numbers = (asked.period, *map(int, flags), asked.on_ns, asked.cycle_ns)
    return ":".join(map(str, numbers))


def _range_metrics(options: CaptureOptions) -> str:
    """What ``native/inject/range_metrics.c`` reads."""
    asked = options.range_metrics
    if asked is None:
        return ""
    cache = RANGE_CACHE_CONTROLS.index(asked.cache_control)
    return f"{asked.limit}:{cache}:{int(asked.by == 'range')}:{','.join(asked.metrics)}"


def python_settings(settings: Mapping[str, str], base: Mapping[str, str]) -> dict[str, str]:
    """The variables by which each Python observes PyTorch, if ``settings`` ask for it."""
    if not settings.get(ENVIRONMENT["PYTORCH"][0]):
        return {}
    paths = [str(_STARTUP), *filter(None, [base.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


class Launcher:
    """The traced program: started, and waited for without blocking.

    stdin, stdout and stderr are the caller's own, unless ``stdout`` is another descriptor.
    Signals that arrive here are passed on, except those that the program got itself, because
    a terminal or somebody else sent them to the whole process group: it must get each
    exactly once.

    Args:
        command: the program and its arguments.
        environment: its environment.
        stdout: see above.
        kept: signals that are ours, and not passed on.

    Attributes:
        kept: how many of these have come.

    Raises:
        UsageError: the program cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        stdout: int | None = None,
        kept: Sequence[int] = (),
    ) -> None:
        # Blocked before the start, so that none is handled here while it could still be
        # told from one that the program got itself; threads made later inherit this.
        signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
        self.interrupts = self.kept = 0
        self._kept = kept
        self._witness = Witness(_FORWARDED)
        self.is_terminated = False  # by us
        self._status: int | None = None
        self._command = list(command)
        self._stdout = stdout
        try:
            self.start(environment)
        except UsageError:
            self._unblock()
            raise

    def start(self, environment: Mapping[str, str]) -> None:
        """Start the program; again, when it has ended.

        Raises:
            UsageError: it cannot be started.
        """
        program, stdout = self._command[0], self._stdout
        try:
            self.pid = os.posix_spawnp(
                program,
                self._command,
                dict(environment),
                file_actions=[] if stdout is None else [(os.POSIX_SPAWN_DUP2, stdout, 1)],
                setsigmask=[],
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores them
            )
        except FileNotFoundError:
            raise UsageError(
                f"there is no program {program!r}", "check the name after --"
            ) from None
        except OSError as error:
            raise UsageError(
                f"{program!r} cannot be run: {error.strerror}",
                "a script needs its interpreter before it, such as python, or chmod +x",
            ) from None
        self._status = None

    def poll(self) -> int | None:
        """Exit status if the program has ended: its own, or 128 + n for signal n."""
        self._forward()
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self._status = 128 - code if code < 0 else code
        return self._status

    def _forward(self) -> None:
        while (info := signal.sigtimedwait(_FORWARDED, 0)) is not None:
            if info.si_signo in self._kept:
                self.kept += 1
                continue
            self.interrupts += info.si_signo in (signal.SIGINT, signal.SIGTERM)
            if self._status is None and not self._got_it_too(info):
                os.kill(self.pid, info.si_signo)

    def _got_it_too(self, info: signal.struct_siginfo) -> bool:
        """Whether the program was signalled by the same stroke as we were."""
        # Asked in any case: a note that nobody reads would be taken for that of a later one.
        if not self._witness.saw(info.si_signo) and info.si_code != _SI_KERNEL:
            return False
        # A terminal that closes tells only the session's leader, which may be us.
        if info.si_signo == signal.SIGHUP and info.si_code == _SI_KERNEL:
            return False
        # One that has moved to a group of its own (timeout, setsid) got nothing.
        return os.getpgid(self.pid) == os.getpgrp()

    def terminate(self) -> None:
        """Send SIGTERM to the program, once."""
        if self._status is None and not self.is_terminated:
            self.is_terminated = True
            os.kill(self.pid, signal.SIGTERM)

    def wait(self) -> int:
        """Wait for the program, passing signals on; its exit status as in ``poll``.

        It is still running only after an error of ours, and then goes on untraced.
        """
        while (status := self.poll()) is None:
            time.sleep(0.02)
        return status

    def close(self) -> None:
        """Wait for the program, if it still runs, and give the signals back."""
        self.wait()
        self._unblock()

    def _unblock(self) -> None:
        self._witness.close()
        while signal.sigtimedwait(_FORWARDED, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)


def injector_loads() -> str | None:
    """Why the injected library does not load here, or None if it does.

    CUDA says nothing when it cannot load an injected library, so the question is asked
    after the fact, in a process of its own.
    """
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    environment = {k: v for k, v in os.environ.items() if k not in (CUDA_INJECTION, NVTX_INJECTION)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(inject_library_path())],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else None
