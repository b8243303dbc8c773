"""The demo's kernels as PTX text: the driver compiles them, so no nvcc is needed.

The target is old on purpose.  PTX is forward compatible: text for sm_52 is compiled by
the driver for every later GPU.  Names are mangled as a C++ compiler would mangle them,
so that a trace of the demo has something to demangle.

Every kernel strides over its data by the size of the grid.  Any grid is therefore a
correct one, and the workload can give each stream a grid size of its own, by which a
recorded kernel tells its stream.
"""

from __future__ import annotations

VECTOR_ADD = "_ZN4demo10vector_addEPKfS1_Pfj"
"""``demo::vector_add(float const*, float const*, float*, unsigned int)``: c = a + b."""
SAXPY = "_ZN4demo5saxpyIfEEvT_PKS1_PS1_j"
"""``void demo::saxpy<float>(float, float const*, float*, unsigned int)``: y = alpha * x + y."""
REDUCE_SUM = "_ZN4demo10reduce_sumEPKfPfj"
"""``demo::reduce_sum(float const*, float*, unsigned int)``: adds all of x to total."""
SPIN = "_ZN4demo4spinEmPm"
"""``demo::spin(unsigned long, unsigned long*)``: waits, and stores for how many ns."""

BLOCK = 256
"""Threads of a block; ``reduce_sum`` works with this size and no other."""

_HEADER = """\
.version 6.0
.target sm_52
.address_size 64
"""

# %r4 = first index of this thread, %r5 = threads in the grid.
_INDEX = """\
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mov.u32 %r5, %nctaid.x;
    mul.lo.u32 %r5, %r5, %r2;
"""

_VECTOR_ADD = f"""
.visible .entry {VECTOR_ADD}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{{
    .reg .pred %p1;
    .reg .u32 %r<8>;
    .reg .u64 %d<8>;
    .reg .f32 %f<4>;
    ld.param.u64 %d1, [a];
    ld.param.u64 %d2, [b];
    ld.param.u64 %d3, [c];
    ld.param.u32 %r6, [n];
    cvta.to.global.u64 %d1, %d1;
    cvta.to.global.u64 %d2, %d2;
    cvta.to.global.u64 %d3, %d3;
{_INDEX}
LOOP:
    setp.ge.u32 %p1, %r4, %r6;
    @%p1 bra DONE;
    mul.wide.u32 %d4, %r4, 4;
    add.u64 %d5, %d1, %d4;
    add.u64 %d6, %d2, %d4;
    add.u64 %d7, %d3, %d4;
    ld.global.f32 %f1, [%d5];
    ld.global.f32 %f2, [%d6];
    add.rn.f32 %f3, %f1, %f2;
    st.global.f32 [%d7], %f3;
    add.u32 %r4, %r4, %r5;
    bra LOOP;
DONE:
    ret;
}}
"""

_SAXPY = f"""
.visible .entry {SAXPY}(.param .f32 alpha, .param .u64 x, .param .u64 y, .param .u32 n)
{{
    .reg .pred %p1;
    .reg .u32 %r<8>;
    .reg .u64 %d<8>;
    .reg .f32 %f<4>;
    ld.param.f32 %f1, [alpha];
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    ld.param.u32 %r6, [n];
    cvta.to.global.u64 %d1, %d1;
    cvta.to.global.u64 %d2, %d2;
{_INDEX}
LOOP:
    setp.ge.u32 %p1, %r4, %r6;
    @%p1 bra DONE;
    mul.wide.u32 %d3, %r4, 4;
    add.u64 %d4, %d1, %d3;
    add.u64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d4];
    ld.global.f32 %f3, [%d5];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%d5], %f3;
    add.u32 %r4, %r4, %r5;
    bra LOOP;
DONE:
    ret;
}}
"""

# Each thread adds up its share, the block adds up its threads' sums in shared memory
# (halving the number of adding threads each round), one thread adds that to the total.
_REDUCE_SUM = f"""
.visible .entry {REDUCE_SUM}(.param .u64 x, .param .u64 total, .param .u32 n)
{{
    .reg .pred %p<4>;
    .reg .u32 %r<12>;
    .reg .u64 %d<8>;
    .reg .f32 %f<6>;
    .shared .align 4 .b8 partial[{BLOCK * 4}];
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [total];
    ld.param.u32 %r6, [n];
    cvta.to.global.u64 %d1, %d1;
    cvta.to.global.u64 %d2, %d2;
{_INDEX}
    mov.f32 %f1, 0f00000000;
LOOP:
    setp.ge.u32 %p1, %r4, %r6;
    @%p1 bra SUMMED;
    mul.wide.u32 %d3, %r4, 4;
    add.u64 %d4, %d1, %d3;
    ld.global.f32 %f2, [%d4];
    add.rn.f32 %f1, %f1, %f2;
    add.u32 %r4, %r4, %r5;
    bra LOOP;
SUMMED:
    mov.u32 %r7, partial;
    mad.lo.u32 %r8, %r3, 4, %r7;
    st.shared.f32 [%r8], %f1;
    mov.u32 %r9, {BLOCK // 2};
HALVE:
    bar.sync 0;
    setp.ge.u32 %p2, %r3, %r9;
    @%p2 bra SKIP;
    mad.lo.u32 %r10, %r9, 4, %r8;
    ld.shared.f32 %f3, [%r8];
    ld.shared.f32 %f4, [%r10];
    add.rn.f32 %f3, %f3, %f4;
    st.shared.f32 [%r8], %f3;
SKIP:
    shr.u32 %r9, %r9, 1;
    setp.ne.u32 %p3, %r9, 0;
    @%p3 bra HALVE;
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra DONE;
    ld.shared.f32 %f5, [partial];
    red.global.add.f32 [%d2], %f5;
DONE:
    ret;
}}
"""

# globaltimer counts ns; the loop ends by the clock, so it ends on every GPU.
_SPIN = f"""
.visible .entry {SPIN}(.param .u64 duration, .param .u64 elapsed)
{{
    .reg .pred %p<3>;
    .reg .u32 %r<8>;
    .reg .u64 %d<6>;
    ld.param.u64 %d1, [duration];
    ld.param.u64 %d2, [elapsed];
    cvta.to.global.u64 %d2, %d2;
{_INDEX}
    mov.u64 %d3, %globaltimer;
WAIT:
    mov.u64 %d4, %globaltimer;
    sub.u64 %d5, %d4, %d3;
    setp.lt.u64 %p1, %d5, %d1;
    @%p1 bra WAIT;
    setp.ne.u32 %p2, %r4, 0;
    @%p2 bra DONE;
    st.global.u64 [%d2], %d5;
DONE:
    ret;
}}
"""

SOURCE = _HEADER + _VECTOR_ADD + _SAXPY + _REDUCE_SUM + _SPIN
"""One module that holds all kernels."""
