"""Workers of Spark: of the session that the program has, or of one that is begun and ended here.

Each task is a job of its own, so that one answer is there before the next, and whatever a worker
dies of fails nothing but itself.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from cupti_etl.engines.engine import ATTEMPTS, Call, Done, Task, cores, killed, result_of
from cupti_etl.errors import EngineError, UsageError

# Jobs that Spark knows of at a time, for each processor: the next is there when one is done.
_AHEAD = 2
_SETTINGS = {
    "spark.app.name": "cupti-etl",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    # Retried here, so that it is known how often.
    "spark.task.maxFailures": "1",
}
# What Spark says of a worker that is gone, in the text of the job's error.
_DEATHS = ("Python worker exited unexpectedly", "ExecutorLostFailure", "Python worker failed")


class Spark:
    """Runs tasks as jobs of Spark, of one task each."""

    def __init__(self) -> None:
        try:
            import pyspark
        except ImportError:
            raise UsageError("Spark is not installed", "pip install 'cupti-etl[spark]'") from None
        self._spark = pyspark

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Task]) -> Iterator[Done]:
        """Call a function for each task: see ``Engine``."""
        context = self._spark.SparkContext._active_spark_context
        if context is not None:
            yield from _run(context, function, tasks)
            return
        with self._begun() as context:
            yield from _run(context, function, tasks)

    @contextmanager
    def _begun(self) -> Iterator[Any]:
        """A context of our own, on the cluster that Spark's files name, or on this machine."""
        from pyspark.java_gateway import launch_gateway

        home = os.environ.get("JAVA_HOME")
        if not (shutil.which("java") or (home and shutil.which("java", path=f"{home}/bin"))):
            raise UsageError(
                "Spark needs Java, and there is none", "install Java 17 or later, or set JAVA_HOME"
            )
        # Workers are the same Python as this one, unless somebody says otherwise.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings = self._spark.SparkConf(loadDefaults=False)
        for name, value in _SETTINGS.items():
            settings.set(name, value)
        if "MASTER" not in os.environ and "PYSPARK_SUBMIT_ARGS" not in os.environ:
            settings.set("spark.master", f"local[{cores()}]")
        gateway = None
        with tempfile.TemporaryFile("w+", errors="replace") as said:
            try:
                gateway = launch_gateway(settings, {"stderr": said, "stdout": said})
                context = self._spark.SparkContext(conf=settings, gateway=gateway)
            except Exception as error:
                if gateway is not None:
                    gateway.shutdown()
                said.seek(0)
                lines = [line.strip() for line in said if line.strip()] or [_first_line(error)]
                raise EngineError(
                    f"Spark does not start: {lines[-1]}",
                    "see what SPARK_CONF_DIR, PYSPARK_SUBMIT_ARGS and JAVA_HOME say",
                ) from error
            try:
                yield context
            finally:
                context.stop()
                gateway.shutdown()
                # The next one gets a Java of its own.
                self._spark.SparkContext._gateway = self._spark.SparkContext._jvm = None


def _run(context: Any, function: Callable[[Any], Any], tasks: Sequence[Task]) -> Iterator[Done]:
    from py4j.protocol import Py4JError

    def job(place: int) -> Any:
        (returned,) = context.parallelize([Call(function, tasks[place])], 1).map(_call).collect()
        return returned

    room = _AHEAD * max(1, context.defaultParallelism)
    left = [(place, 1) for place in reversed(range(len(tasks)))]
    running: dict[Future[Any], tuple[int, int]] = {}
    with ThreadPoolExecutor(room) as threads:
        while left or running:
            while left and len(running) < room:
                place, attempt = left.pop()
                running[threads.submit(job, place)] = (place, attempt)
            ready = next(iter(wait(running, return_when=FIRST_COMPLETED).done))
            place, attempt = running.pop(ready)
            try:
                returned = ready.result()
            except Py4JError as error:
                text = str(error)
                death = next((words for words in _DEATHS if words in text), None)
                if death is None:
                    raise EngineError(
                        f"{tasks[place].says}: Spark: {_first_line(error)}"
                    ) from error
                if attempt < ATTEMPTS:
                    left.append((place, attempt + 1))
                    continue
                returned = killed(tasks[place], death)
            yield Done(place, result_of(returned), attempt)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or repr(error)).splitlines()[0]


def _call(call: Call) -> Any:
    return call()
