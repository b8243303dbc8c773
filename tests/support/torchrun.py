"""torchrun before the fake program: PyTorch itself is not traced.

A PyTorch with CUDA starts the driver wherever it is imported, and the fake one can do too little
for it.  What torchrun starts in the end has the injected library, as it would have anyhow.
"""

from __future__ import annotations

import sys

_HIDE = "INJECT=$CUDA_INJECTION64_PATH; export INJECT; unset CUDA_INJECTION64_PATH"
_SHOW = "CUDA_INJECTION64_PATH=$INJECT; export CUDA_INJECTION64_PATH"
# Before a command that is to be traced.
SHOWN = ("sh", "-c", f'{_SHOW}; exec "$@"', "sh")


def torchrun(*words: str) -> list[str]:
    """A command line of torchrun, which is followed by the program of its workers.

    Args:
        words: its options, and a script of Python if the program is given to one.
    """
    hidden = ("sh", "-c", f'{_HIDE}; exec "$@"', "sh")
    return [*hidden, sys.executable, "-m", "torch.distributed.run", *words, *SHOWN]
