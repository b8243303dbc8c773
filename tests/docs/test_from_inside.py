"""The examples of docs/howto/from-inside.md run, one after the other, and do what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.fakes import Fakes
from support.from_inside import Inside

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "from-inside.md"
_CODE = re.compile(r"^```(python|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_examples_run(fakes: Fakes, tmp_path: Path) -> None:
    inside = Inside(fakes, tmp_path)
    blocks = _CODE.findall(PAGE.read_text())
    python = [text for kind, text in blocks if kind == "python" and not text.startswith("%")]
    (sql,) = (text for kind, text in blocks if kind == "sql")
    program = f"""
driver.cuInit(0)
cupti_etl.capture = capture
cupti_etl.profile = functools.partial(cupti_etl.profile, **json.loads(os.environ["OPTIONS"]))
def train(): launch(5)
sys.stdout, out = sys.stderr, sys.stdout
{"".join(python)}
sys.stdout = out
tell(*[(row["path"], row["ranges"], row["kernels"]) for row in run.ranges()])
tell(run.trace.query("step").count())
tell(*[row["name"] for row in run.trace.sql({sql!r} + "ORDER BY start_ns, name")])
"""
    paths, (steps,), named = inside(program)
    assert sorted(map(tuple, paths)) == [
        ("step", 3, 15),
        ("step / forward", 3, 15),
        ("step / forward / layer", 3, 15),
    ]
    assert steps == 3
    assert named == ["step", "forward"] * 3
    assert inside.trace("run42").count("kernel") == 5
    assert inside.trace("step").count("kernel") == 5
    assert inside.trace("windows").count("kernel") == 5
    assert (tmp_path / "ranges.csv").exists()
