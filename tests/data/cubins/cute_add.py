"""For tests of source lines: a kernel of CuTe's Python, and its code for sm_90a.

CUTE_DSL_LINEINFO=1 python /src/cute_add.py
"""

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_ptr


@cute.jit
def weigh(x: cute.Numeric):
    return x * 3.0 + 1.0


@cute.kernel
def add_kernel(a: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    x = weigh(a[tidx])
    out[tidx] = x + a[tidx + 1]


@cute.jit
def add(a: cute.Pointer, out: cute.Pointer):
    layout = cute.make_layout((1024,))
    tensors = [cute.make_tensor(each, layout) for each in (a, out)]
    add_kernel(*tensors).launch(grid=[1, 1, 1], block=[128, 1, 1])


POINTER = make_ptr(cutlass.Float32, 0x1000, cute.AddressSpace.gmem, assumed_align=16)
cute.compile(add, POINTER, POINTER, options="--keep-cubin --gpu-arch sm_90a")
