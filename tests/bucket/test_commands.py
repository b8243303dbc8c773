"""Every command on a trace in a bucket: it answers, or says what to do instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support.command import etl
from support.slow import few
from support.trace import write_trace

import cupti_etl
from cupti_etl.cli import cli
from cupti_etl.storage import bucket

URL = "s3://traces/run42"
COPY = f"copy it first: aws s3 cp --recursive {URL} run42"
HERE = "give a path on this machine"
ANSWERS: dict[str, tuple[list[str], str]] = {
    "query": (["kernel_summary", URL], "gemm"),
    "sql": ([URL, "SELECT count(*) AS n FROM kernel"], "3"),
    "report": ([URL], "gemm"),
    "diff": ([URL, URL], "gemm"),
    "runs": (["s3://traces"], "run42 "),
}
REFUSED: dict[str, tuple[list[str], str]] = {
    "dump": ([URL], COPY),
    "import": ([URL, "-o", "OUT/imported"], COPY),
    "index": ([URL], COPY),
    "migrate": ([URL], COPY),
    "recover": ([URL], COPY),
    "relink": ([URL], COPY),
    "replay": ([URL, "-o", "OUT/replayed"], COPY),
    "top": ([URL, "--once"], f"cupti-etl report {URL}"),
    "upload": ([URL], "give the folder that the capture named"),
    # What they write.
    "daemon": (["-o", URL], HERE),
    "demo": (["-o", URL], HERE),
    "resume": (["-o", URL, "1"], HERE),
    "sample": (["-o", URL], HERE),
}
# They are asked below, or take no trace.
OTHERS = {"export", "serve", "mcp", "capture", "completion", "doctor", "metrics", "schema"}
WITH_ROWS = ("capture", "process", "kernel")


@pytest.fixture(scope="module", autouse=True)
def trace(server: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A small trace in a bucket, as the capture of one host leaves it."""
    from pyarrow import fs

    folder = write_trace(
        tmp_path_factory.mktemp("local") / "run42",
        capture="start_ns end_ns command\n 0 100 ./train",
        process="process_id pid host start_ns end_ns\n 1 11 node1 0 100",
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              10       20     gemm
            1          0         2              30       50     gemm
            1          0         3              60       70     softmax
        """,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server}")
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_REGION", "us-east-1")
        bucket.file_system.cache_clear()
        fs.S3FileSystem(
            endpoint_override=f"http://127.0.0.1:{server}", allow_bucket_creation=True
        ).create_dir("traces")
        # Tables without rows have no part.
        for part in [
            *folder.glob("capture/*"),
            *folder.glob("process/*"),
            *folder.glob("kernel/*"),
        ]:
            bucket.put(bucket.Url(f"{URL}/node1-7") / part.relative_to(folder), part.read_bytes())
        bucket.put(bucket.Url(f"{URL}/node1-7/{bucket.ORIGIN}"), b"node1\n")
        bucket._LISTINGS.clear()
        yield
    bucket.file_system.cache_clear()
    bucket._LISTINGS.clear()


def words_of(words: list[str], out: Path) -> list[str]:
    return [word.replace("OUT", str(out)) for word in words]


def test_each_command_is_here() -> None:
    context = click.Context(cli)
    commands = {name for name in cli.list_commands(context) if name != "help"}
    assert commands == {*ANSWERS, *REFUSED, *OTHERS}


@pytest.mark.parametrize("command", few(2, ANSWERS))
def test_commands_that_answer(command: str, tmp_path: Path) -> None:
    words, said = ANSWERS[command]
    done = etl(command, *words_of(words, tmp_path))
    assert (done.returncode, said in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.parametrize("command", REFUSED)
def test_commands_that_refuse(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words, todo = REFUSED[command]
    done = etl(command, *words_of(words, tmp_path))
    assert done.returncode == 2, done.stderr
    assert f"{URL} is in a bucket, and this takes a path on this machine" in done.stderr
    assert todo in done.stderr
    # Nothing was written to a folder that is called `s3:`.
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ["export", URL, "s3://traces/out", "--to", "parquet"],
        ["report", URL, "-o", "s3://traces/report.html"],
        ["query", "kernel_summary", URL, "-o", "s3://traces/kernels.csv"],
    ],
    ids=lambda words: str(words[0]),
)
def test_files_are_written_to_this_machine(words: list[str]) -> None:
    done = etl(*words)
    assert (done.returncode, HERE in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_an_export_is_the_trace(tmp_path: Path) -> None:
    assert etl("export", URL, tmp_path / "run42.duckdb", "--to", "duckdb").returncode == 0
    with cupti_etl.open(tmp_path / "run42.duckdb") as here, cupti_etl.open(URL) as there:
        asked = "FROM kernel ORDER BY start_ns"
        assert here.sql(asked).arrow().equals(there.sql(asked).arrow())


@pytest.mark.slow
def test_it_is_served() -> None:
    testclient = pytest.importorskip("starlette.testclient")
    from cupti_etl.serve.app import Service
    from cupti_etl.storage.sources import expand

    service = Service(tuple(expand([URL])), "the-token")
    with testclient.TestClient(
        service.app, "http://127.0.0.1:8756", headers={"Authorization": "Bearer the-token"}
    ) as client:
        answer = client.get("/arrow/kernel_summary?format=json")
        assert (answer.status_code, "gemm" in answer.text) == (200, True), answer.text
    service.close()


@pytest.mark.slow
def test_an_agent_asks_it() -> None:
    pytest.importorskip("starlette", reason="the extra mcp is not installed")
    from cupti_etl.mcp.tools import Tools
    from cupti_etl.storage.sources import expand

    tools = Tools(list(expand([URL])))
    try:
        assert "gemm" in str(tools.run_query("kernel_summary"))
    finally:
        tools.close()
