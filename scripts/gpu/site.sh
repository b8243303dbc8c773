# shellcheck shell=sh
# What the scripts that measure on a GPU begin with: sourced, with $work and the caller's arguments.
#
# Sets repository, python, out and newer: the libcupti of a wheel of nvidia-cuda-cupti in WHEELS, which
# is unpacked; "" without one.  The other wheels there are installed.  Leaves the caller in $work, which
# is empty and holds no source, so that what is imported is the installed wheel.

repository=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
wheels=${WHEELS:-$repository/.whl}
site=${SITE:-/tmp/site}
: "${OUT:?set OUT to a folder for the results}"

rm -rf "$work"
mkdir -p "$work/cupti" "$OUT"
out=$(cd "$OUT" && pwd)
newer=
install=
for wheel in "$wheels"/*.whl; do
    case $(basename "$wheel") in
    nvidia_cuda_cupti*)
        # Beside PyTorch's copy, not instead of it.
        "$python" -m zipfile -e "$wheel" "$work/cupti"
        newer=$(find "$work/cupti" -name 'libcupti.so.1?' | head -n 1)
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

# compile PROGRAM NAME: scripts/gpu/NAME.cu
compile() {
    nvcc -O2 -lineinfo -arch="${ARCH:-native}" -o "$1" "$repository/scripts/gpu/$2.cu" ||
        nvcc -O2 -lineinfo -o "$1" "$repository/scripts/gpu/$2.cu"
}
