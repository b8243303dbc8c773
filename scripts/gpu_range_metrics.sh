#!/bin/sh
# Compares exact counters with those of Nsight Compute on a machine with a GPU.
#
#   OUT=results scripts/gpu_range_metrics.sh [option of scripts/gpu/range_metrics.py ...]
#
# With --rounds application, the program is run once for each group of metrics: without ncu, in less
# than 100 s.
#
# Needs nvcc, ncu, the right to read hardware counters, and an installed cupti-etl (or its wheels, and
# those of whatever it needs, in WHEELS, default .whl); no network.  A wheel of nvidia-cuda-cupti there
# is unpacked and used with --cupti.  Writes OUT/range_metrics.json and OUT/range_metrics.log, in 7
# minutes at most.
set -eu

work=${WORK:-/tmp/cupti-etl-range-metrics}
. "$(dirname "$0")/gpu/site.sh"
compile counted counted
set -- --out "$out" --work "$work" --program "$work/counted" "$@"
[ -z "$newer" ] || set -- "$@" --cupti "$newer"
exec "$python" "$repository/scripts/gpu/range_metrics.py" "$@"
