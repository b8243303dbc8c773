"""Names and attributes of ``cupti_etl.range()``, and what cannot be one."""

from __future__ import annotations

import pytest
from support.from_inside import Inside

REFUSED = {
    "no name": ("cupti_etl.range()", "TypeError: range() takes a name"),
    "a number": ("cupti_etl.range(3)", "TypeError: range() takes a name"),
    "two names": ('cupti_etl.range("a", "b")', "TypeError: range() takes a name"),
    "two functions": ('cupti_etl.range("a")(print, print)', "TypeError: a range decorates one"),
    "a step's name": ('cupti_etl.step("a")', "TypeError: step() takes nothing but attributes"),
    "a step of nothing": ("cupti_etl.step(3)", "TypeError: <cupti_etl.step> decorates a function"),
    "a generator": (
        'cupti_etl.range("a")(generate)',
        "UsageError: generate is a generator, which runs in pieces",
    ),
    "a class": ('cupti_etl.range("a")(type("Model", (), {}))', "UsageError: Model is a class"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_a_range_is_said(inside: Inside, case: str) -> None:
    code, message = REFUSED[case]
    text = f"""
def generate(): yield
try:
    {code}
except (TypeError, cupti_etl.EtlError) as error:
    tell(f"{{type(error).__name__}}: {{error}}")
"""
    ((said,),) = inside(text)
    assert said.startswith(message)


@pytest.mark.slow
def test_names_and_attributes_are_what_they_are(inside: Inside) -> None:
    text = r"""
driver.cuInit(0)
class Bad:
    def __str__(self): raise ValueError
class Type:
    def __str__(self): return "torch.float16"
deep = []
deep.append(deep)
with capture("run") as run:
    for name in ("", "é", "a" * 5000, "\ud800", "q\"\\"):
        with cupti_etl.range(name): pass
    with cupti_etl.range("attributes", none=None, yes=True, no=False, big=1 << 80, dtype=Type(),
                         bad=Bad(), nan=float("nan"), small=1e-300, text='a"b\\',
                         many=[1, (2.5, "x")]):
        pass
    with cupti_etl.range("deep", deep=deep): pass
    with cupti_etl.range("long", text="x" * 20_000): pass
    tell(repr(cupti_etl.range("forward")))
tell([r["name"] for r in run.trace.sql("FROM nvtx_range ORDER BY start_ns")])
rows = run.trace.sql("FROM argument ORDER BY marker_id DESC")
tell([json.loads(r["arguments"]) for r in rows][:1])
tell(run.trace.sql("FROM argument").count())
"""
    (shown,), (names,), (arguments,), (rows,) = inside(text)
    assert shown == "<cupti_etl.range 'forward'>"
    assert names[:5] == ["", "é", "a" * 4096, "\\ud800", 'q"\\']
    assert arguments == [
        {
            "none": None,
            "yes": True,
            "no": False,
            "big": str(1 << 80),
            "dtype": "torch.float16",
            "bad": None,
            "nan": "nan",
            "small": 1e-300,
            "text": 'a"b\\',
            "many": [1, [2.5, "x"]],
        }
    ]
    assert rows == 2  # those that are too long are left out


@pytest.mark.slow
def test_nothing_is_kept_of_a_name(inside: Inside) -> None:
    text = """
import gc
driver.cuInit(0)
def size():
    gc.collect()
    resident, shared = map(int, open("/proc/self/statm").read().split()[1:3])
    return (resident - shared) * 4096
def work():
    for n in range(50_000):
        with cupti_etl.range(f"name {n} {'x' * 200}", n=n): pass
work()
before = size()
for _ in range(5): work()
tell(size() - before < 2 << 20)
with capture("run"):
    work()
    before = size()
    for _ in range(5): work()
    tell(size() - before < 2 << 20)
"""
    assert inside(text) == [[True], [True]]
