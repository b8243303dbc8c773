"""Labels: short, the same for the same thing, and never the same for two things."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cupti_etl.queries.query import Label
from cupti_etl.render.kernel_names import parse
from cupti_etl.render.labels import cut_apart, label_rows, path_name, processes

KERNEL = Label("name", "kernel", ("demangled", "grid", "block"))
COPY = Label("copy_kind", "copy", ("src_kind", "dst_kind", "size"))
RANGE = Label("path", "range", ("path",))
KINDS = {label.kind: label for label in (KERNEL, COPY, RANGE)}


def kernels(*demangled: str, name: str = "") -> list[str]:
    rows = [{"name": name or parse(each).head, "demangled": each} for each in demangled]
    return label_rows(Label("name", "kernel", ("demangled",)), rows)


def test_a_kernel_is_called_by_its_function() -> None:
    assert kernels("void ns::scale<float>(float*, int)", "void (anonymous namespace)::fill()") == [
        "scale", "fill",
    ]  # fmt: skip


def test_kernels_of_one_function_have_the_argument_that_differs() -> None:
    assert kernels("void softmax<float, 5, true>(int)", "void softmax<float, 6, true>(int)") == [
        "softmax<5>", "softmax<6>",
    ]  # fmt: skip
    # What says what is computed comes before a number, and types only where they are needed.
    assert kernels(
        "void sum<4, at::Add<float> >(int)", "void sum<8, at::Mul<float> >(int)",
        "void sum<8, at::Mul<double> >(int)",
    ) == ["sum<Add>", "sum<Mul<float>>", "sum<Mul<double>>"]  # fmt: skip


def test_templates_that_say_little_always_have_the_argument_that_says_more() -> None:
    at = "at::native::"
    assert kernels(
        f"void {at}vectorized_elementwise_kernel<4, {at}CUDAFunctor_add<float>,"
        f" std::array<char*, 3ul> >(int, {at}CUDAFunctor_add<float>, std::array<char*, 3ul>)",
        f"void {at}elementwise_kernel<128, 2, {at}gpu_kernel_impl_nocast<{at}BUnaryFunctor<float,"
        f" float, float, {at}binary_internal::MulFunctor<float> > >({at}TensorIteratorBase&)"
        "::{lambda(int)#1}>(int)",
        f"void {at}unrolled_elementwise_kernel<{at}direct_copy_kernel_cuda({at}TensorIteratorBase&)"
        "::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}>"
        "(int)",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_nt_align1>(int)",
    ) == [
        "vectorized_elementwise_kernel<CUDAFunctor_add>",
        "elementwise_kernel<BUnaryFunctor<MulFunctor>>",
        "unrolled_elementwise_kernel<direct_copy_kernel_cuda>",
        "cutlass_80_simt_sgemm_64x64_8x5_nt_align1",
    ]  # fmt: skip


def test_a_function_called_kernel_bears_its_namespace_where_no_argument_says_more() -> None:
    gemv = (
        "std::enable_if<!({}), void>::type internal::gemvx::kernel<int, float, {}, 7,"
        " cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<float const>, float> >"
        "(cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<float const>, float>)"
    )
    assert kernels(gemv.format("false", "true")) == ["gemvx::kernel"]
    assert kernels(gemv.format("false", "true"), gemv.format("false", "false")) == [
        "gemvx::kernel<true>", "gemvx::kernel<false>",
    ]  # fmt: skip
    assert kernels("kernel(int)", "void kernel<4>(int)") == ["kernel", "kernel<4>"]


def test_lambdas_are_told_apart_by_their_types_and_then_by_their_numbers() -> None:
    inner = "void k<at::pow_impl(int)::{{lambda()#1}}::operator()() const::{{lambda({})#{}}}>(int)"
    assert kernels(*(inner.format(*of) for of in (("float", 1), ("double", 1), ("double", 2)))) == [
        "k<pow_impl<float>>", "k<pow_impl<double, #1.1>>", "k<pow_impl<double, #1.2>>",
    ]  # fmt: skip


def test_of_parameters_within_a_name_those_that_differ_are_shown() -> None:
    name = "Cijk_Alik_Bljk_BBS_BH_UserArgs_MT32x32x256_MI16x16x1_LDSB1_{}_WG32_8_1"
    head = "Cijk_Alik_Bljk_BBS_BH_UserArgs_MT32x32x256"
    assert kernels(name.format("NTA0")) == [head]
    assert kernels(name.format("NTA0"), name.format("NTA4")) == [f"{head}<NTA0>", f"{head}<NTA4>"]


def test_the_launch_shape_is_the_last_resort() -> None:
    rows = [
        {"name": "f", "demangled": "f()", "grid": grid, "block": "256,1,1"}
        for grid in ("1,1,1", "8,1,1")
    ]
    assert label_rows(KERNEL, rows) == ["f 1,1,1", "f 8,1,1"]
    assert label_rows(KERNEL, rows[:1] * 2) == ["f", "f"]


def test_mangled_names_are_read_where_the_trace_knows_them() -> None:
    label = Label("next_name", "kernel", ("next_kind",))
    rows = [
        {"next_name": "_Z1fi", "next_kind": "kernel"},
        {"next_name": "_Z1gi", "next_kind": "kernel"},
        {"next_name": None, "next_kind": "memset"},
    ]
    assert label_rows(label, rows, {"_Z1fi": "void ns::f<int>(int)"}) == ["f", "_Z1gi", "memset"]


def test_names_that_nothing_can_demangle_are_read_as_far_as_they_are_plain() -> None:
    norm = "_ZN5lucky4normI?Li{}ELb1EEEvPT_i"
    gemm = "_ZN3abc6KernelINS_4conv4GemmILi64ENS_4ModeE{}EEE?EEvT_"
    assert kernels(norm.format(64), name="norm") == ["norm"]
    assert kernels(norm.format(64), norm.format(256), name="norm") == ["norm<64>", "norm<256>"]
    assert kernels(gemm.format(1), gemm.format(2), name="Kernel") == [
        "Gemm<Mode, 1>",
        "Gemm<Mode, 2>",
    ]
    label = Label("sequence", "kernels", ("first", "second"))
    row = {"sequence": "", "first": norm.format(64), "second": gemm.format(1)}
    known = {name: name for name in row.values()}
    assert label_rows(label, [row], known) == ["norm > Gemm<Mode>"]


def test_copies_say_the_memory_of_the_host_and_what_else_it_takes() -> None:
    def copies(*things: tuple[str | None, ...]) -> list[str]:
        names = (COPY.column, *COPY.of)
        return label_rows(COPY, [dict(zip(names, thing, strict=True)) for thing in things])

    pinned = ("HtoD", "pinned", "device")
    pageable = ("HtoD", "pageable", "device", "<= 4 KiB")
    inside = ("DtoD", "device", "device", None)
    assert copies((*pinned, "<= 4 KiB"), pageable, inside) == [
        "HtoD pinned", "HtoD pageable", "DtoD",
    ]  # fmt: skip
    assert copies((*pinned, "<= 4 KiB"), (*pinned, "> 16 MiB")) == [
        "HtoD pinned <= 4 KiB", "HtoD pinned > 16 MiB",
    ]  # fmt: skip
    assert copies((None, None, None, None)) == ["copy"]


def test_ranges_have_as_much_of_their_path_as_it_takes() -> None:
    paths = ("step", "step / forward", "step / forward / linear", "step / backward / linear")
    assert label_rows(RANGE, [{"path": path} for path in paths]) == [
        "step", "forward", "forward / linear", "backward / linear",
    ]  # fmt: skip


def test_long_paths_are_what_tells_them_apart_and_the_innermost_range() -> None:
    inside = "call / forward / layer_norm / empty"
    rows = [{"path": f"run / norm_{at} / {inside}"} for at in (8, 9)]
    rows += [{"path": f"run / drop / {inner} / forward / layer_norm / ones"} for inner in "ab"]
    assert label_rows(RANGE, rows) == [
        "norm_8 / … / empty",
        "norm_9 / … / empty",
        "a / … / ones",
        "b / … / ones",
    ]
    # Where that would not tell them apart, all is said.
    paths = [f"a / {at} / b / c / d" for at in "xy"] + ["z / x / b / c / d"]
    labels = label_rows(RANGE, [{"path": path} for path in paths])
    assert len(set(labels)) == 3


def test_ranges_of_operators_have_the_sizes_of_their_inputs() -> None:
    mm = 'aten::mm, sizes = [[8, 16], [16, 4]], types = ["{}", "{}"]'
    to = 'aten::to, sizes = [[8, 16], [], []], types = ["float", "Int", ""]'
    names = {
        to: "aten::to(8x16)",
        f"{to} / {mm.format('float', 'float')}": "aten::mm(8x16, 16x4) float, float",
        f"{to} / {mm.format('c10::Half', 'Bool')}": "aten::mm(8x16, 16x4) c10::Half, Bool",
        f"net / {mm.format('float', 'float')}": "aten::mm(8x16, 16x4)",
        "aten::item, sizes = [[]]": "aten::item",
        "with, sizes = none": "with, sizes = none",
    }
    assert label_rows(RANGE, [{"path": path} for path in names]) == list(names.values())
    assert path_name(f"cudaMemcpy in {to} / x") == "cudaMemcpy in aten::to(8x16) / x"


@pytest.mark.parametrize(
    "name",
    [
        "batch, sizes = [3]",
        "resize, sizes = [a] to [b]",
        # Of emit_nvtx, which tells by them of which operator a backward pass is.
        "aten::mm, seq = 5, op_id = 7, sizes = [[8, 16], [16, 4]]",
    ],
)
def test_ranges_of_others_keep_what_is_like_sizes(name: str) -> None:
    assert path_name(name) == name


def test_a_name_of_a_stranger_takes_no_time() -> None:
    # More than linear, it would not end before the limit of every test.
    name = "a" + ', sizes = [[]], types = ["' * 50_000
    assert path_name(name) == name


def test_operators_have_the_sizes_of_their_inputs() -> None:
    label = Label("name", "operator", ("input_dims", "element_type"))
    dims = {
        "[[8,16],[16,4]]": "f(8x16, 16x4)",
        "[[5,64],[],[3],[],[]]": "f(5x64, -, 3)",
        "[[[8,4],[]],[]]": "f([8x4, -])",
        "[[],[]]": "f",
        "[1": "f([1)",
        "[" * 9999: f"f({'[' * 9999})",
    }
    rows = [{"name": "f", "input_dims": each, "element_type": "float"} for each in dims]
    assert label_rows(label, rows) == list(dims.values())
    same = [{**rows[0], "element_type": each} for each in ("float", "half")]
    assert label_rows(label, same) == ["f(8x16, 16x4) float", "f(8x16, 16x4) half"]


def test_processes_are_ranks_or_pids_or_hosts_and_pids() -> None:
    def named(*rows: tuple[int | None, int | None, str | None]) -> list[str]:
        keys = ("process_id", "rank", "pid", "host")
        made = [dict(zip(keys, (at, *row), strict=True)) for at, row in enumerate(rows)]
        return list(processes(made).values())

    assert named((0, 7, "a"), (1, 7, "b")) == ["rank 0", "rank 1"]
    assert named((None, 7, "a"), (None, 8, "b")) == ["pid 7", "pid 8"]
    assert named((None, 7, "a"), (None, 7, "b")) == ["a/7", "b/7"]
    assert named((None, 7, "a"), (None, 7, "a")) == ["a/7", "a/7 (2)"]
    assert named((None, None, None)) == ["process"]


def test_what_is_cut_stays_different() -> None:
    texts = ["vectorized_elementwise_kernel<Add>", "vectorized_elementwise_kernel<Mul>", "f"]
    assert cut_apart(texts, 24) == ["vectorized_element…<Add>", "vectorized_element…<Mul>", "f"]
    texts = [f"{'a' * 40}{at}{'b' * 40}" for at in range(12)]
    assert len(set(cut_apart(texts, 20))) == 12
    # Of three, two differ later only.
    ends = ("indexed_f16f16_nhwc", "f16f16_nhwc_tilesize128x64", "f16f16_nhwc_tilesize256x64")
    texts = [f"sm80_fprop_implicit_gemm_{end}_execute_kernel_trt" for end in ends]
    assert cut_apart(texts, 28) == [
        "sm80_fpr…indexed_f…ernel_trt",
        "sm80_fpr…128x64_ex…ernel_trt",
        "sm80_fpr…256x64_ex…ernel_trt",
    ]


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(), st.text(alphabet="ab<>(){}:, ~*&#1"))
def test_any_text_has_a_tree(text: str, odd: str) -> None:
    parse(text)
    parse(odd)
    parse(f"f<{odd}>")


_FUNCTORS = (
    "at::Add<{}>",
    "at::BinaryFunctor<{0}, at::Mul<{0}> >",
    "{}",
    "f(int)::{{lambda({})#1}}",
)
_TEMPLATES = ("void {}<4, {}>(int)", "void ns::{}<{}, 8>(int)", "{}({})", "_Z{}{}")


@st.composite
def _rows(draw: st.DrawFn) -> tuple[Label, list[dict[str, str | None]]]:
    label = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    words = st.sampled_from(["a", "b", "Kernel", "reduce_kernel", "", "a (2)"])
    if label.kind == "kernel":
        functor = st.builds(
            str.format, st.sampled_from(_FUNCTORS), st.sampled_from(["int", "float"])
        )
        names = st.builds(str.format, st.sampled_from(_TEMPLATES), words, functor)
        value = {"demangled": names | st.none(), "name": words | st.none()}
    else:
        value = {"path": st.lists(words, min_size=1, max_size=3).map(" / ".join)}
    cell = st.sampled_from(["pinned", "device", "1", None])
    return label, draw(
        st.lists(
            st.fixed_dictionaries(
                {name: value.get(name, cell) for name in (label.column, *label.of)}
            ),
            max_size=12,
        )
    )


@settings(deadline=None)
@given(_rows(), st.randoms(use_true_random=False), st.integers(min_value=12, max_value=60))
def test_two_things_never_have_one_label(
    made: tuple[Label, list[dict[str, str | None]]], chance: random.Random, width: int
) -> None:
    label, rows = made
    texts = label_rows(label, rows)
    keys = [tuple(row[name] for name in (label.column, *label.of)) for row in rows]
    of = dict(zip(texts, keys, strict=True))
    for text, key in zip(texts, keys, strict=True):
        assert of[text] == key, "two things have one label"
    assert len(set(texts)) == len(set(keys))
    # Neither their order nor how often they come plays a part.
    shuffled = list(range(len(rows)))
    chance.shuffle(shuffled)
    assert (
        label_rows(label, [rows[at] for at in shuffled] * 2) == [texts[at] for at in shuffled] * 2
    )
    cut = cut_apart(texts, width)
    assert len(set(cut)) == len(set(texts))
    assert all(len(each) <= width for each in cut)


@pytest.mark.parametrize("depth", [10, 10_000])
def test_deep_names_are_read_in_time(depth: int) -> None:
    name = "f<" + "a<" * depth + "int" + ">" * depth + ">(int)"
    assert parse(name).head == "f"
    assert len(set(kernels(name, name.replace("int>", "float>")))) == 2


def test_ranges_of_xla_are_called_by_what_they_run() -> None:
    step = "XlaModule:#prefix=args[0],hlo_module=jit_step,program_id=7#"
    other = step.replace("7", "8")
    dot = "Thunk:#name=jit(step)/dot,hlo_op=gemm_fusion.3,unique_hlo_op_id=9#"
    buffer = "Thunk:#hlo_op=command_buffer_1#"
    names = {
        "train": "train",
        step: "jit_step #7",
        other: "jit_step #8",
        f"{step} / {dot}": "gemm_fusion.3",
        f"train / {buffer}": "train / command_buffer_1",
        f"{other} / {buffer}": "jit_step / command_buffer_1",
        "XlaPass:#name=cse,module=jit_step,program_id=0#": "XlaPass cse",
        "XlaCompile:#module=jit_step#": "XlaCompile jit_step",
        "Thunk:#broken": "Thunk:#broken",
    }
    assert label_rows(RANGE, [{"path": path} for path in names]) == list(names.values())
    assert label_rows(RANGE, [{"path": step}]) == ["jit_step"]
    assert path_name(f"most of it in {dot}") == "most of it in gemm_fusion.3"
    assert path_name(f"cudaMemcpy in train / {dot}") == "cudaMemcpy in train / gemm_fusion.3"
