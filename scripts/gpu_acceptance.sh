#!/bin/sh
# Captures real programs on a machine with a GPU and checks the traces.
#
#   OUT=results scripts/gpu_acceptance.sh [option of scripts/gpu/acceptance.py ...]
#   OUT=results scripts/gpu_acceptance.sh features [option of scripts/gpu/features.py ...]
#   OUT=results scripts/gpu_acceptance.sh profilers
#   OUT=results scripts/gpu_acceptance.sh stacks [option of scripts/gpu/stacks.py ...]
#   OUT=results scripts/gpu_acceptance.sh graphs [option of scripts/gpu/graphs.py ...]
#   OUT=results scripts/gpu_acceptance.sh callbacks
#   OUT=results scripts/gpu_acceptance.sh pytorch [option of scripts/gpu/pytorch.py ...]
#   OUT=results scripts/gpu_acceptance.sh inside [option of scripts/gpu/inside.py ...]
#   OUT=results scripts/gpu_acceptance.sh pm [option of scripts/gpu/pm.py ...]
#   OUT=results scripts/gpu_acceptance.sh truth [option of scripts/gpu/pm_truth.py ...]
#   OUT=results scripts/gpu_acceptance.sh gpm
#   OUT=results scripts/gpu_acceptance.sh pc_sampling
#   OUT=results scripts/gpu_acceptance.sh budget [option of scripts/gpu/budget.py ...]
#   OUT=results scripts/gpu_acceptance.sh switching [option of scripts/gpu/switching.py ...]
#   OUT=results scripts/gpu_acceptance.sh switching_ways [option of scripts/gpu/switching_ways.py ...]
#   OUT=results scripts/gpu_acceptance.sh nccl_one
#   OUT=results scripts/gpu_acceptance.sh nccl [option of scripts/gpu/nccl.py ...]
#
# Needs Python 3.11 or later with PyTorch and Triton, nvcc, and in WHEELS (default .whl) the wheels
# of cupti-etl and of whatever it needs that is not installed; no network.  A wheel of
# nvidia-cuda-cupti there is not installed but unpacked, and used with --cupti.
# Writes OUT/acceptance.json, OUT/acceptance.log and OUT/h200.etlrec; takes under 6 minutes.
# With `features`, OUT/features.json and OUT/features.log, in 2 minutes: each feature on its own,
# and the options of a capture combined pairwise; that needs the wheel of nvidia-cuda-cupti, and
# two GPUs for all of it.  With `profilers`, OUT/profilers.json, in 2 minutes: torch.profiler
# comes and goes in a program that is captured.  With `stacks`, OUT/stacks.json, in 6 minutes:
# Python stacks against what programs log, and their price.  With `inside`, OUT/inside.json, in 2
# minutes: programs that capture themselves, their ranges beside torch.profiler's.  With `graphs`,
# OUT/graphs.json, in 90 s: the same for what CUDA graphs replay.  With `callbacks`,
# OUT/callbacks.json, in a minute: callbacks
# against what a program launched, and their price.  With `pytorch`, OUT/pytorch.json, in 8 minutes:
# operators, modules and kernels against what torch.profiler counts, of 26 kinds of programs, too,
# and their price.  With `pm`, OUT/pm.json, in 3 minutes: what
# sampling of counters costs and misses, which needs the right to read them.  With `truth`,
# OUT/pm_truth.json, in 4 minutes: the hardware metrics of kernels beside what the kernels count
# themselves; that right is needed, too.  With `pc_sampling`, OUT/pc_sampling.json, in 3 minutes:
# samples of PCs, their sums and what they cost; likewise.  With `gpm`, OUT/gpm.json, in a minute:
# what NVML counts beside what CUPTI samples.  With `nccl_one`, OUT/nccl_one.json, in 4
# minutes: events of NCCL on one GPU against what a program asked of it, and their price.  With
# `nccl`, OUT/nccl.json, in 5 minutes: the same of several ranks, their matching and their delays;
# that needs two GPUs.  With `budget`, OUT/budget.json, in 6 minutes: what `--budget` costs, beside what
# a program logs of its steps.  With `switching`, OUT/switching.json, in 4 minutes: programs whose
# records are switched on and off hundreds of times.  With `switching_ways`, OUT/switching_ways.json,
# in 5 minutes: which way of switching CUPTI stands, and what it costs a launch afterwards.
set -eu

work=${WORK:-/tmp/cupti-etl-acceptance}
. "$(dirname "$0")/gpu/site.sh"

program=acceptance
case "${1:-}" in
features | profilers | stacks | graphs | callbacks | pytorch | inside) program=$1 ;;
budget | switching | switching_ways | gpm | pm | pc_sampling | nccl | nccl_one) program=$1 ;;
truth) program=pm_truth ;;
esac
[ $program = acceptance ] || shift
case $program in
features) set -- "$@" --features "$work/features" ;;
pm_truth) set -- "$@" --truth "$work/truth" ;;
pc_sampling) set -- "$@" --stalls "$work/stalls" ;;
esac
set -- "$@" --out "$out"
[ $program = pm_truth ] || set -- "$@" --launch-loop "$work/launch_loop"
[ $program = pm ] || set -- "$@" --work "$work"
if [ -n "$newer" ]; then
    case $program in
    pm | pm_truth) set -- "$@" --cupti "$newer" ;;
    *) set -- "$@" --newer-cupti "$newer" ;;
    esac
fi
for name in launch_loop features truth stalls; do
    compile "$name" "$name"
done
mkdir -p traces
if [ $program = acceptance ]; then
    cc -O2 -shared -fPIC -o bare_client.so "$repository/scripts/gpu/bare_client.c" -ldl -lpthread
    set -- "$@" --bare-client "$work/bare_client.so"
fi
exec "$python" "$repository/scripts/gpu/$program.py" "$@"
