#!/bin/sh
# Counts instructions of kernels whose numbers are known on a machine with a GPU.
#
#   OUT=results scripts/gpu_sass_metrics.sh [option of scripts/gpu/sass_metrics.py ...]
#
# Needs nvcc, the right to read hardware counters, and an installed cupti-etl (or its wheels, and
# those of whatever it needs, in WHEELS, default .whl); no network.  A wheel of nvidia-cuda-cupti there
# is unpacked and used with --cupti.  Writes OUT/sass_metrics.json and OUT/sass_metrics.log, in 7
# minutes at most.
set -eu

work=${WORK:-/tmp/cupti-etl-sass-metrics}
. "$(dirname "$0")/gpu/site.sh"
compile program instructions
set -- --out "$out" --work "$work" --program "$work/program" "$@"
[ -z "$newer" ] || set -- "$@" --cupti "$newer"
exec "$python" "$repository/scripts/gpu/sass_metrics.py" "$@"
