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

repository=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
wheels=${WHEELS:-$repository/.whl}
work=${WORK:-/tmp/cupti-etl-range-metrics}
site=${SITE:-/tmp/site}
: "${OUT:?set OUT to a folder for the results}"

rm -rf "$work"
mkdir -p "$work/cupti" "$OUT"
out=$(cd "$OUT" && pwd)
set -- --out "$out" --work "$work" --program "$work/counted" "$@"
install=
for wheel in "$wheels"/*.whl; do
    case $(basename "$wheel") in
    nvidia_cuda_cupti*)
        "$python" -m zipfile -e "$wheel" "$work/cupti"
        set -- "$@" --cupti "$(find "$work/cupti" -name 'libcupti.so.1?' | head -n 1)"
        ;;
    *.whl) [ -e "$wheel" ] && install="$install $wheel" ;;
    esac
done
if [ -n "$install" ]; then
    # shellcheck disable=SC2086  # names of wheels hold no blanks
    "$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade \
        --target "$site" $install
fi
export PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}"
cd "$work"
nvcc -O2 -lineinfo -arch="${ARCH:-native}" -o counted "$repository/scripts/gpu/counted.cu" ||
    nvcc -O2 -lineinfo -o counted "$repository/scripts/gpu/counted.cu"
exec "$python" "$repository/scripts/gpu/range_metrics.py" "$@"
