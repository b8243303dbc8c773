"""torchrun over two hosts, which are network namespaces, and write one trace."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.captures import Capturer, running
from support.torchrun import torchrun

import cupti_etl
from cupti_etl.config import LAUNCHERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed"),
]
# Addresses that are for documentation alone (RFC 5737).
ADDRESSES = ("192.0.2.1", "192.0.2.2")
RANKS = "SELECT rank, local_rank, world_size FROM process ORDER BY rank"
# All ranks meet through gloo before and after what each does on its GPU.
PROGRAM = """
import os, subprocess, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
mine = torch.tensor([2 ** dist.get_rank()])
dist.all_reduce(mine)
assert mine.item() == 2 ** dist.get_world_size() - 1, mine
subprocess.run(sys.argv[1:], check=True)
dist.barrier()
dist.destroy_process_group()
"""


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"ip {' '.join(words)}: {done.stderr.strip()}")


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """The names of two network namespaces that reach each other, and nothing else."""
    if os.getuid() or shutil.which("ip") is None:
        pytest.skip("network namespaces need root, and ip")
    names = [f"etl{os.getpid()}{side}" for side in "ab"]
    with ExitStack() as stack:
        for name in names:
            ip("netns", "add", name)
            stack.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
        first, second = names
        ip("link", "add", "eth0", "netns", first, "type", "veth", "peer", "eth0", "netns", second)
        for name, address in zip(names, ADDRESSES, strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", name, "link", "set", device, "up")
        yield names


def test_four_ranks_on_two_hosts(capturer: Capturer, hosts: list[str], tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    shared = tmp_path / "shared" / "run42"
    words, env, trace, _ = capturer.prepare("13.5.25", launches=3)
    for name in {name for names in LAUNCHERS.values() for name in names}:
        env.pop(name, None)
    env["GLOO_SOCKET_IFNAME"] = "eth0"
    words[words.index(str(trace))] = f"file://{shared}"
    at = words.index("--") + 1
    with ExitStack() as stack:
        started = []
        for node, host in enumerate(hosts):
            launcher = torchrun(
                *("--nnodes=2", "--nproc-per-node=2", f"--node-rank={node}"),
                *(f"--master-addr={ADDRESSES[0]}", "--master-port=29500", str(program)),
            )
            line = ["ip", "netns", "exec", host, *words[:at], *launcher, *words[at:]]
            process = stack.enter_context(
                running(line, env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            )
            started.append(process)
        for process in started:
            said, _ = process.communicate(timeout=600)
            assert process.returncode == 0, said
    with cupti_etl.open(shared) as opened:
        assert len(opened.paths) == 2
        assert [tuple(row.values()) for row in opened.sql(RANKS)] == [
            (rank, rank % 2, 4) for rank in range(4)
        ]
        assert [row["n"] for row in opened.sql("SELECT count(*) AS n FROM kernel")] == [12]
        (verdict,) = opened.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
        assert verdict["subject"] == "complete"
    # One node alone is not the job: its other ranks are named.
    with cupti_etl.open(sorted(shared.iterdir())[0]) as opened:
        (lost,) = opened.sql("SELECT cause, detail FROM _loss_cause")
        assert lost["cause"] == "rank_missing"
        assert lost["detail"].startswith("of 4 ranks of the job, 2 are in the trace; not there: ")
