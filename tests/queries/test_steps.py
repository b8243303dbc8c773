"""What a step is: what people and frameworks call one."""

from __future__ import annotations

import pytest
from support.loops import CALL, KERNEL, launched, ranges
from support.trace import MakeTrace, assert_rows

from cupti_etl.api import Trace
from cupti_etl.errors import UsageError


def names(opened: Trace) -> list[str]:
    return [row["name"] for row in opened.sql("SELECT name FROM step ORDER BY step")]


def test_the_step_of_a_profiler_comes_before_frames_operators_and_layers(trace: MakeTrace) -> None:
    opened = trace(
        marker=ranges(
            ("python_function", "train.py(3): train_step", 0, 900),
            ("user_annotation", "ProfilerStep#6", 10, 400),
            *(
                (domain, name, 100 * n + 20, 100 * n + 60)
                for n in range(4)
                for domain, name in (
                    ("python_function", "prefill.py(12): step"),
                    ("cpu_op", "aten::cudnn_batch_norm"),
                    ("user_annotation", f"layer {n}"),
                    ("user_annotation", "Optimizer.step#SGD.step"),
                )
            ),
        ),
        **launched([100 * n + 30 for n in range(8)]),
    )
    assert_rows(
        opened.sql("FROM step"),
        """
        step source name           start_ns end_ns confidence
        0    nvtx   ProfilerStep#6 32       335    1
        """,
    )
    with pytest.raises(UsageError, match="the trace has no step 6") as raised:
        opened.scope(steps=6)
    assert raised.value.hint == "its only step is 0"


def test_a_gpu_that_is_not_there(trace: MakeTrace) -> None:
    opened = trace(device="process_id device_id device_uuid\n1 0 GPU-a")
    with pytest.raises(UsageError, match="the trace has no GPU 1") as raised:
        opened.scope(gpu=1)
    assert raised.value.hint == "its only GPU is 0"


@pytest.mark.parametrize(
    ("domain", "name", "is_step"),
    [
        ("user_annotation", "train_step", True),
        ("-", "it {n}: train", True),
        ("-", "frame {n}", True),
        ("-", "Batch {n}", True),
        ("user_annotation", "execute_{n}_context_0(sq1)_generation_{n}(sq1)", True),
        ("user_annotation", "[pl][profile]run_training_batch", True),
        ("-", "Scheduler.run_batch", True),
        ("-", "EngineCore.step", True),
        ("-", "execute_model", True),
        ("-", "train#step_num={n}", True),
        ("-", "Iteration {n}", True),
        ("python_function", "prefill.py({n}): step", False),
        ("python_function", "step", False),
        ("cpu_op", "aten::batch_norm", False),
        ("-", "aten::batch_norm, op_id = {n}", False),
        ("-", "FlashAttnFunc, seq = {n}, op_id = {n}", False),
        ("-", "layer.{n}", False),
        ("-", "Warm-up Step {n}", False),
        ("-", "warmup_{n}", False),
        ("-", "Linear_{n}", False),
        ("-", "encoder block {n}", False),
        ("-", "BatchNorm{n}", False),
        ("-", "forward", False),
    ],
)
def test_what_is_called_a_step(trace: MakeTrace, domain: str, name: str, is_step: bool) -> None:
    opened = trace(
        marker=ranges(
            *((domain, name.format(n=n), 100 * n**2, 100 * n**2 + 90) for n in range(4))
        ).replace('"-"', "-"),
        **launched([100 * n**2 + 30 for n in range(4)]),
    )
    assert names(opened) == ([name.format(n=n) for n in range(4)] if is_step else [])


def test_steps_of_an_optimizer_end_with_the_next(trace: MakeTrace) -> None:
    """What comes after the last is not known: it is the optimizer alone."""
    optimizer = ("user_annotation", "Optimizer.step#SGD.step")
    opened = trace(
        marker=ranges(*((*optimizer, at, at + 10) for at in (80, 180, 280))),
        # Forward, and in the optimizer.
        **launched([10, 82, 110, 182, 210, 282]),
    )
    assert_rows(
        opened.sql("FROM step ORDER BY step"),
        """
        step name                    start_ns end_ns
        0    Optimizer.step#SGD.step 84       184
        1    Optimizer.step#SGD.step 184      284
        """,
    )


def test_numbers_rise_wherever_they_stand_in_a_name(trace: MakeTrace) -> None:
    """Most of the work is of nobody here: of the last step only the begin is known."""
    opened = trace(
        marker=ranges(*(("-", f"fp8 {n}", 100 * n, 100 * n + 20) for n in range(4))).replace(
            '"-"', "-"
        ),
        **launched([at for n in range(4) for at in range(100 * n + 5, 100 * n + 80, 15)]),
    )
    assert_rows(
        opened.sql("FROM step ORDER BY step"),
        """
        step source name    start_ns end_ns
        0    nvtx   "fp8 0" 7        107
        1    nvtx   "fp8 1" 107      207
        2    nvtx   "fp8 2" 207      307
        """,
    )


def test_rounds_of_several_threads_are_no_steps(trace: MakeTrace) -> None:
    marks = ranges(*(("-", f"round {n}", 100 * n, 100 * n + 90) for n in range(4)))
    tables = launched([100 * n + 5 for n in range(4)])
    other = marks.partition("\n")[2].replace("1 5 ", "1 6 1")
    calls = "\n".join(
        f"1 6 1{n} runtime cudaLaunchKernel {100 * n + 8} {100 * n + 9}" for n in range(4)
    )
    kernels = "\n".join(f"1 0 1{n} {100 * n + 20} {100 * n + 30} other" for n in range(4))
    opened = trace(
        marker=f"{marks}\n{other}".replace('"-"', "-"),
        api_call=f"{tables['api_call']}\n{calls}",
        kernel=f"{tables['kernel']}\n{kernels}",
    )
    assert names(opened) == []


def test_an_optimizer_that_runs_the_whole_step_has_a_last_one(trace: MakeTrace) -> None:
    """Lightning gives it forward and backward as its closure."""
    optimizer = ("user_annotation", "Optimizer.step#SGD.step")
    opened = trace(
        marker=ranges(*((*optimizer, at, at + 90) for at in (0, 100, 200))),
        **launched([10, 82, 110, 182, 210, 282]),
    )
    assert_rows(
        opened.sql("SELECT start_ns, end_ns FROM step ORDER BY step"),
        "start_ns end_ns\n12 112\n112 212\n212 287",
    )


def optimized(*sizes: int) -> dict[str, str]:
    """Steps of one optimizer after another, each followed by so many kernels, 1 ns each."""
    begins = [10 + sum(sizes[:n]) * 10 for n in range(len(sizes))]
    optimizer = ("user_annotation", "Optimizer.step#Adam.step")
    return {
        "marker": ranges(*((*optimizer, at, at + 2) for at in begins)),
        **launched(
            [at + 1 + 10 * k for at, size in zip(begins, sizes, strict=True) for k in range(size)]
        ),
    }


@pytest.mark.parametrize(
    ("sizes", "length"),
    [
        # The first of each makes what it keeps; some steps print.
        ((30, 40, 10, 20, 10, 22, 10, 20, 11, 20, 10, 20), 2),
        # A tenth is no difference, a step with an evaluation no other optimizer.
        ((30, 20, 20, 21, 20, 21, 20, 21, 20, 21, 20, 21), 1),
        ((30, 20, 20, 40, 20, 20, 40, 20, 20, 40, 20, 20), 1),
        ((30, 40, 10, 20, 10), 1),
    ],
)
def test_two_optimizers_in_turn_are_one_step(
    trace: MakeTrace, sizes: tuple[int, ...], length: int
) -> None:
    opened = trace(**optimized(*sizes))
    found = [row["kernels"] for row in opened.sql("FROM step_summary ORDER BY step")]
    pairs = [sum(sizes[at : at + length]) for at in range(0, len(sizes), length)]
    assert found == pairs[:-1]


def test_steps_on_a_gpu_for_which_other_threads_ask(trace: MakeTrace) -> None:
    """As DataParallel does, whose optimizer works on the first GPU alone."""
    optimizer = ("user_annotation", "Optimizer.step#SGD.step")
    opened = trace(
        marker=ranges(*((*optimizer, at, at + 10) for at in (80, 180, 280))),
        device="process_id device_id device_uuid\n1 0 GPU-0\n1 1 GPU-1",
        api_call=f"""
        {CALL}
        1 5 1 runtime cudaLaunchKernel 82  83
        1 6 2 runtime cudaLaunchKernel 110 111
        1 6 3 runtime cudaLaunchKernel 120 121
        1 5 4 runtime cudaLaunchKernel 182 183
        1 6 5 runtime cudaLaunchKernel 210 211
        1 5 6 runtime cudaLaunchKernel 282 283
        """,
        kernel=f"""
        {KERNEL}
        1 0 1 84  89  sgd
        1 1 2 112 119 forward
        1 1 3 122 131 backward
        1 0 4 184 189 sgd
        1 1 5 212 219 forward
        1 0 6 284 289 sgd
        """,
    )
    assert_rows(
        opened.sql("FROM step ORDER BY gpu, step"),
        """
        gpu step name                    start_ns end_ns host_start_ns host_end_ns
        0   0    Optimizer.step#SGD.step 84       184    80            180
        0   1    Optimizer.step#SGD.step 184      284    180           280
        1   0    Optimizer.step#SGD.step 112      212    80            180
        """,
    )


@pytest.mark.parametrize(
    ("durations", "first"),
    [
        ([900, 300, 200, 100, 101, 99, 100, 102, 98, 100], 3),
        ([900, 100, 100, 100, 100, 100, 100, 100, 100, 100], 1),
        # A checkpoint is no end of the steady state, and one good step is not its beginning.
        ([100, 101, 99, 100, 100, 700, 100, 101, 100, 99], 0),
        ([900, 100, 900, 880, 100, 101, 100, 99, 100, 100, 101, 100], 4),
        # What becomes slower has not warmed up.
        ([100] * 10 + [150] * 10, 0),
        ([900] + [100] * 9 + [150] * 10, 1),
        # One that did hardly anything is not its beginning.
        ([10, 900, 100, 100, 101, 99, 100, 102, 98, 100], 2),
        # Of few steps, the later half says little of how much they differ.
        ([900, 97, 92, 86, 77, 77], 2),
        ([900, 120, 101, 90, 66, 90], 2),
        ([300, 100], 1),
        ([100], 0),
    ],
)
def test_the_steady_state_begins_where_steps_settle(
    trace: MakeTrace, durations: list[int], first: int
) -> None:
    starts = [sum(durations[:n]) for n in range(len(durations))]
    ends = zip(starts, durations, strict=True)
    work = launched(starts)
    # The last step ends with its last activity.
    last = starts[-1] + durations[-1] - 5
    work["api_call"] += f"\n1 5 {last} runtime cudaLaunchKernel {last} {last + 1}"
    work["kernel"] += f"\n1 0 {last} {last + 2} {last + 7} k"
    opened = trace(marker=ranges(*(("-", "step", at, at + length) for at, length in ends)), **work)
    steady = [row["is_steady"] for row in opened.sql("FROM step ORDER BY step")]
    assert steady == [n >= first for n in range(len(durations))]


def test_the_steady_state_of_ranks_begins_with_that_of_the_last(trace: MakeTrace) -> None:
    """The first waits for the second only from the third step on."""
    tables: dict[str, str] = {}
    for process, durations in ((1, [300, 100, 100, 100, 100]), (2, [300, 200, 100, 100, 100])):
        starts = [sum(durations[:n]) for n in range(len(durations))]
        ends = zip(starts, durations, strict=True)
        rows = launched([*starts, sum(durations) - 5])
        rows["marker"] = ranges(*(("-", "step", at, at + length) for at, length in ends))
        for name, text in rows.items():
            head, *lines = text.strip().splitlines()
            tables.setdefault(name, head)
            tables[name] += "".join(f"\n{process}{line[1:]}" for line in lines)
    opened = trace(**tables)
    steady = opened.sql("SELECT process_id, step FROM step WHERE is_steady ORDER BY ALL")
    assert_rows(steady, "process_id step\n1 2\n1 3\n1 4\n2 2\n2 3\n2 4")


@pytest.mark.slow
def test_numbers_that_begin_anew_or_lie_in_a_pass_are_of_parts(trace: MakeTrace) -> None:
    parts = [("-", f"part {n % 3}", 100 * n, 100 * n + 90) for n in range(9)]
    inside = [("-", f"part {n}", 100 * n, 100 * n + 90) for n in range(9)]
    work = launched([100 * n + 30 for n in range(9)])
    assert names(trace(marker=ranges(*inside).replace('"-"', "-"), **work)) != []
    assert names(trace(marker=ranges(*parts).replace('"-"', "-"), **work)) == []
    frame = ("python_function", "model.py(7): forward", 0, 1000)
    assert names(trace(marker=ranges(frame, *inside).replace('"-"', "-"), **work)) == []
    whole = ("user_annotation", "warm-up and more", 0, 1000)
    assert names(trace(marker=ranges(whole, *inside).replace('"-"', "-"), **work)) == []


def pipelined(steps: int) -> dict[str, str]:
    """Steps that begin with a copy of their own stream, and compute when the one before has."""
    copies = "process_id device_id context_id stream_id correlation_id start_ns end_ns copy_kind"
    kernels = "process_id device_id context_id stream_id correlation_id start_ns end_ns name"
    begun = [(2 * n, 100 * n) for n in range(steps)]
    return {
        "marker": ranges(*(("", f"step {n}", 100 * n, 100 * n + 90) for n in range(steps))),
        "api_call": "\n".join(
            [
                CALL,
                *(
                    f"1 5 {id_ + k} runtime f {at + k} {at + k + 1}"
                    for id_, at in begun
                    for k in range(2)
                ),
            ]
        ),
        "memcpy": "\n".join(
            [copies, *(f"1 0 1 8 {id_} {at + 5} {at + 9} HtoD" for id_, at in begun)]
        ),
        "kernel": "\n".join(
            [kernels, *(f"1 0 1 7 {id_ + 1} {at + 80} {at + 165} k" for id_, at in begun)]
        ),
    }


def test_steps_whose_inputs_are_copied_ahead_begin_on_their_main_stream(trace: MakeTrace) -> None:
    opened = trace(**pipelined(4))
    assert_rows(
        opened.sql("SELECT step, start_ns, end_ns FROM step"),
        "step start_ns end_ns\n 0 80 180\n 1 180 280\n 2 280 380\n 3 380 465",
    )
    # The copy for the next is in the step that goes on meanwhile.
    counts = opened.sql("SELECT step, launches, kernels, copies FROM _step_count ORDER BY step")
    assert_rows(counts, "step launches kernels copies\n 0 2 1 1\n 1 2 1 1\n 2 2 1 1\n 3 1 1 0")


def test_only_what_is_left_out_is_said_to_be(trace: MakeTrace) -> None:
    """A loop that began before the recording has no warm-up."""
    opened = trace(
        marker=ranges(*(("", f"step {n}", n * 100, n * 100 + 90) for n in range(6))),
        **launched([n * 100 + 10 for n in range(6)]),
    )
    with opened.scope(steps="complete") as part:
        assert part.says == "steps 0-4 of 0-5, without the last"
