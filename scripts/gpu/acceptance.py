"""Captures real programs on a GPU and checks every trace against what the program launched.

    python acceptance.py --out DIR --work DIR --launch-loop PROGRAM [--newer-cupti PATH]

Writes DIR/acceptance.json (machine, versions, each check's numbers), DIR/acceptance.log and
DIR/h200.etlrec, a recording for demo and tests.  Runs everything, whatever fails; exits with 1
if anything did.  See ``scripts/gpu_acceptance.sh``.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import machine
from overhead import measure, measure_torch
from runs import CUPTI_ETL, PYTHON, Done, Runner, arguments
from verify import launch_view, verify

from cupti_etl.errors import EtlError

HERE = Path(__file__).resolve().parent
SECONDS = 540
RECORDING_BYTES = 3_000_000
WORKLOAD = (PYTHON, "-m", "cupti_etl.demo.workload")


@dataclass(frozen=True)
class Case:
    """A capture that is checked.

    Attributes:
        name: name in the report, and of the trace folder.
        command: the traced command; ``{log}`` or ``{log0}``, ``{log1}`` stand for log files.
        options: further options of ``capture``.
        reference: a command that is run untraced and writes ``{reference}``, torch.profiler's
            counts; () for none.
        status: with which the command ends.
    """

    name: str
    command: tuple[str, ...]
    options: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    status: int = 0


def cases(launch_loop: str, newer_cupti: str | None) -> list[Case]:
    """All captures of the acceptance."""
    train = (PYTHON, str(HERE / "train.py"), "--log", "{log}")
    workload = (*WORKLOAD, "--log", "{log}")
    ending = (PYTHON, str(HERE / "ending_app.py"))
    loop = (launch_loop, "{log}", "300000", "4", "1")
    pair = " & ".join(
        shlex.join([launch_loop, log, "100000", str(streams), "1"])
        for log, streams in (("{log0}", 2), ("{log1}", 3))
    )
    found = [
        Case("launch_loop", loop),
        Case("launch_threads", (launch_loop, "{log}", "200000", "2", "4")),
        Case("train", train, reference=(*train, "--profile", "{reference}")),
        Case("two_processes", ("sh", "-c", f"{pair} & wait")),
        Case("triton", (PYTHON, str(HERE / "triton_app.py"), "--log", "{log}")),
        Case("driver_api", workload),
        Case("interrupted", (*ending, "interrupted", "--log", "{log}"), status=130),
        Case("fork", (*ending, "fork", "--log", "{log}")),
        Case("forkserver", (*ending, "forkserver", "--log", "{log}")),
    ]
    if newer_cupti:
        options = ("--cupti", newer_cupti)
        found.append(Case("launch_loop_newer_cupti", loop, options))
        found.append(Case("driver_api_newer_cupti", workload, options))
        selected = (*options, "--records", "selected")
        found.append(Case("launch_loop_selected", loop, selected))
        found.append(Case("driver_api_selected", workload, selected))
    return found


class Acceptance:
    """Runs cases and keeps their reports."""

    def __init__(self, runner: Runner, gpus: Sequence[str]) -> None:
        self._runner = runner
        self._gpus = gpus
        self.reports: list[dict[str, Any]] = []

    def capture(self, case: Case) -> None:
        """Capture a case's program, then check the trace."""
        command, logs, reference = self._fill(case)
        trace = self._runner.folder / "traces" / case.name
        done = self._runner.run(
            [*CUPTI_ETL, "capture", "-o", str(trace), *case.options, "--", *command]
        )
        counts = None
        if case.reference and done.status == 0:
            counts = self._reference(case, reference)
        self._judge(case.name, command, done, trace, logs, counts, case.status)

    def replay(self, name: str, recording: Path, log: Path) -> None:
        """Replay a recording, then check the trace against the log of the recorded program."""
        trace = self._runner.folder / "traces" / name
        command = [*CUPTI_ETL, "replay", str(recording), "-o", str(trace)]
        self._judge(name, command, self._runner.run(command), trace, [log], None)

    def succeed(self, name: str, command: Sequence[str]) -> Done:
        """A command that has to end with status 0."""
        done = self._runner.run(command)
        problems = [] if done.status == 0 else [f"status {done.status}", *done.last_lines]
        self._report(name, command, done, [], problems)
        return done

    def _fill(self, case: Case) -> tuple[list[str], list[Path], Path]:
        """The command with the names of its files, its logs, and the reference's file."""
        folder = self._runner.folder
        text = " ".join(case.command)
        numbers = [n for n in ("0", "1") if f"{{log{n}}}" in text] or [""]
        logs = {f"log{n}": folder / f"{case.name}{n}.json" for n in numbers}
        command = [_substitute(word, logs) for word in case.command]
        return command, list(logs.values()), folder / f"{case.name}-reference.json"

    def _reference(self, case: Case, path: Path) -> dict[str, dict[str, int]] | None:
        files = {"log": path.with_suffix(".log"), "reference": path}
        done = self._runner.run([_substitute(word, files) for word in case.reference])
        counts: dict[str, dict[str, int]] | None = None
        if done.status == 0 and path.exists():
            counts = json.loads(path.read_text())
        return counts

    def _judge(
        self,
        name: str,
        command: Sequence[str],
        done: Done,
        trace: Path,
        logs: Sequence[Path],
        counts: dict[str, dict[str, int]] | None,
        status: int = 0,
    ) -> None:
        problems = [] if done.status == status else [f"status {done.status}", *done.last_lines]
        problems += [f"{log.name} was not written" for log in logs if not log.exists()]
        if name == "train" and counts is None:
            problems.append("there are no counts of torch.profiler to compare with")
        checks: list[dict[str, Any]] = []
        if all(log.exists() for log in logs):
            launched = [json.loads(log.read_text()) for log in logs]
            try:
                view = launch_view(trace)
            except EtlError as error:
                problems.append(f"the trace cannot be opened: {error.message}")
            else:
                found = verify(trace, launched, view, counts=counts, gpus=self._gpus)
                checks = [check.as_dict() for check in found]
        self._report(name, command, done, checks, problems)

    def _report(
        self,
        name: str,
        command: Sequence[str],
        done: Done,
        checks: list[dict[str, Any]],
        problems: list[str],
    ) -> None:
        passed = not problems and all(check["passed"] for check in checks)
        self.reports.append(
            {
                "case": name,
                "passed": passed,
                "command": shlex.join(map(str, command)),
                "status": done.status,
                "seconds": done.seconds,
                "problems": problems,
                "checks": checks,
            }
        )
        failed = [check["name"] for check in checks if not check["passed"]]
        print(f"== {name}: {'passed' if passed else 'FAILED'} {'; '.join([*problems, *failed])}\n")


def record(acceptance: Acceptance, runner: Runner, out: Path) -> None:
    """A recording of a short training run, small enough to ship, replayed and checked."""
    for steps in (10, 4, 1):
        recording = runner.folder / f"h200-{steps}.etlrec"
        log = runner.folder / f"recorded-{steps}.json"
        trace = runner.folder / "traces" / f"recorded-{steps}"
        train = [
            PYTHON,
            str(HERE / "train.py"),
            "--log",
            str(log),
            "--steps",
            str(steps),
            "--warmup",
            "1",
        ]
        options = ["-o", str(trace), "--save-raw", str(recording)]
        command = [*CUPTI_ETL, "capture", *options, "--", *train]
        done = acceptance.succeed(f"recording_{steps}_steps", command)
        if done.status == 0 and recording.stat().st_size <= RECORDING_BYTES:
            acceptance.replay("replay", recording, log)
            (out / "h200.etlrec").write_bytes(recording.read_bytes())
            (out / "h200.etlrec.json").write_bytes(log.read_bytes())
        if done.status != 0 or (out / "h200.etlrec").exists():
            return
    acceptance.succeed(f"recording_under_{RECORDING_BYTES}_bytes", ["false"])


def _substitute(word: str, files: dict[str, Path]) -> str:
    for key, path in files.items():
        word = word.replace(f"{{{key}}}", str(path))
    return word


def main() -> int:
    parser = arguments(__doc__, "--launch-loop")
    parser.add_argument("--bare-client", default="", help="see bare_client.c")
    parser.add_argument("--only", nargs="*", default=[], help="names of cases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--launches", type=int, default=300_000)
    options = parser.parse_args()
    begin = time.time()
    facts = machine()
    runner = Runner(options.work, options.out / "acceptance.log", SECONDS)
    acceptance = Acceptance(runner, [gpu["uuid"] for gpu in facts["gpus"]])
    report: dict[str, Any] = {
        "machine": facts,
        "began": time.strftime("%FT%TZ", time.gmtime(begin)),
    }

    def wanted(name: str) -> bool:
        return not options.only or name in options.only

    def write() -> None:
        """Write what is known so far, in case this is the last that is heard of the machine."""
        report["cases"] = acceptance.reports
        report["seconds"] = round(time.time() - begin, 1)
        runner.write(report)

    if wanted("doctor"):
        acceptance.succeed("doctor", [*CUPTI_ETL, "doctor"])
    for case in cases(options.launch_loop, options.newer_cupti):
        if wanted(case.name):
            acceptance.capture(case)
            write()
    if wanted("recording"):
        record(acceptance, runner, options.out)
    if wanted("demo"):
        demo = options.work / "traces" / "demo"
        acceptance.succeed("demo", [*CUPTI_ETL, "demo", "-o", str(demo)])
    write()
    if wanted("overhead"):
        report["overhead"] = measure(
            runner,
            Path(options.launch_loop),
            options.rounds,
            options.launches,
            bare_client=options.bare_client,
            newer=options.newer_cupti,
        )
        write()
    if "overhead_torch" in options.only:
        report.setdefault("overhead", {}).update(
            measure_torch(runner, options.rounds, options.bare_client)
        )
    measured = not any(each["failures"] for each in report.get("overhead", {}).values())
    report["passed"] = measured and all(done["passed"] for done in acceptance.reports)
    write()
    for done in acceptance.reports:
        print(f"{'passed' if done['passed'] else 'FAILED':7} {done['case']}  {done['seconds']} s")
        for problem in done["problems"]:
            print(f"          {problem[:300]}")
        for check in done["checks"]:
            for problem in check["problems"][:3]:
                print(f"          {check['name']}: {problem[:300]}")
    overhead = {name: each["added"] for name, each in report.get("overhead", {}).items()}
    verdict = "PASSED" if report["passed"] else "FAILED"
    print(f"{verdict} in {report['seconds']} s; overhead {overhead}")
    return 0 if report["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
