"""A Slurm of one machine for the time of some tests: munged, slurmctld, slurmd on free ports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.leftovers import MARK
from support.waiting import wait_until

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")
_CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


def missing() -> str:
    """The first of the programs that is not here, or what else is; "" if nothing is."""
    if os.geteuid() != 0:
        return "root"
    found = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return next((name for name in PROGRAMS if not shutil.which(name, path=found)), "")


class NoSlurm(Exception):
    """It cannot run on this machine."""


@contextmanager
def slurm() -> Iterator[dict[str, str]]:
    """Its variables, with which srun finds it.

    Raises:
        NoSlurm: a part of it has ended.
    """
    # Sockets have short paths.
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        ports = []
        for _ in range(2):
            with socket.create_server(("127.0.0.1", 0)) as free:
                ports.append(free.getsockname()[1])
        host = socket.gethostname().split(".")[0]
        text = _CONFIGURATION.format(host=host, ports=ports, folder=folder)
        (folder / "slurm.conf").write_text(text)
        version = "v2" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "v1"
        (folder / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/{version}\n")
        for name in ("state", "spool"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        for path in (folder, key):
            path.chmod(0o700 if path.is_dir() else 0o400)
        env = {
            **os.environ,
            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
            "SLURM_CONF": str(folder / "slurm.conf"),
        }
        # They are for several tests, and ended after those.
        del env[MARK]

        started: dict[str, subprocess.Popen[bytes]] = {}

        def start(*words: str) -> None:
            log = stack.enter_context((folder / f"{words[0]}.log").open("wb"))
            process = subprocess.Popen(
                words, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            started[words[0]] = process

        start(
            "munged",
            "--foreground",
            "--force",
            f"--key-file={key}",
            f"--socket={folder}/munge.socket",
            f"--pid-file={folder}/munged.pid",
            f"--log-file={folder}/munge.log",
            f"--seed-file={folder}/munged.seed",
        )
        wait_until((folder / "munge.socket").exists)
        start("slurmctld", "-D", "-c")
        start("slurmd", "-D", "-N", host)

        def is_idle() -> bool:
            for name, process in started.items():
                if process.poll() is not None:
                    lines = (folder / f"{name}.log").read_text().splitlines()
                    raise NoSlurm(f"{name} ended: {lines[-1] if lines else 'without a word'}")
            words = ["sinfo", "--noheader", "--format=%T"]
            done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
            return done.stdout.strip() == "idle"

        wait_until(is_idle)
        yield env
