# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
#
# common: what the scripts share. Sourced, not run. Gives `root` and `jobs`; no function here changes
# the current folder of its caller.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)

die() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# help_if_asked ARGUMENT...: where the first is -h or --help, prints the head of the script and ends it.
help_if_asked() {
    case ${1:-} in
    -h | --help) ;;
    *) return 0 ;;
    esac
    awk 'NR > 3 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"
    exit 0
}

# quietly LOG COMMAND...: appends the output to LOG, and shows LOG only when the command fails.
quietly() {
    local log=$1
    shift
    "$@" >>"$log" 2>&1 && return
    cat "$log" >&2
    echo "failed: $* (this log is $log)" >&2
    return 1
}

# build_target PRESET TARGET [CONFIGURE_OPTION...]: configures and builds, with the log in the build folder.
build_target() {
    local preset=$1 target=$2 log=$root/build/$1/build.log
    shift 2
    mkdir -p "$root/build/$preset"
    : >"$log"
    (cd "$root" && quietly "$log" cmake --preset "$preset" "$@") &&
        (cd "$root" && quietly "$log" cmake --build --preset "$preset" -j "$jobs" --target "$target")
}

# build_preset PRESET [CONFIGURE_OPTION...]: all of it, likewise.
build_preset() {
    build_target "$1" all "${@:2}"
}

# Looks where CMake looks.
has_cuda_toolkit() {
    local folder
    command -v nvcc >/dev/null && return
    for folder in "${CUDAToolkit_ROOT:-}" "${CUDA_PATH:-}" /usr /usr/local/cuda /usr/local/cuda-*; do
        [ -n "$folder" ] && [ -e "$folder/include/cuda_runtime_api.h" ] && return
    done
    return 1
}

# What scripts/setup --all-backends fetches where a vendor's SDK is missing.
fetched_cuda=$root/build/deps/cuda
if ! has_cuda_toolkit && [ -e "$fetched_cuda/include/cuda_runtime_api.h" ]; then
    export CUDAToolkit_ROOT=$fetched_cuda # where CMake looks
    # What lies in the project's own tree is not written into the libraries that are installed.
    export LD_LIBRARY_PATH=$fetched_cuda/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

# --- vendors: what only one of them needs is in the functions that ask for its name ------------------

# Prints the vendors that tarn has a backend for. Each is the name of a preset, too. They are in the
# order in which a machine with devices of several uses them: Level Zero's, a part of the processor in
# many machines, come last.
vendors() {
    printf '%s\n' cuda hip ze
}

# has_sdk VENDOR: whether there is what the vendor's tests are compiled and linked with.
has_sdk() {
    case $1 in
    cuda) has_cuda_toolkit ;;
    hip) [ -e /usr/include/hip/hip_runtime_api.h ] || [ -e /opt/rocm/include/hip/hip_runtime_api.h ] ;;
    ze) pkg-config --exists libze_loader ;;
    *) die "no such vendor: $1" ;;
    esac
}

# What stands before /dev and /sys. A test sets it to the folder of a machine that it has made up.
machine=

# Whether Linux has a device file for a GPU of Intel's.
has_intel_gpu() {
    local node
    for node in "$machine"/sys/class/drm/renderD*; do
        [ -e "$machine/dev/dri/${node##*/}" ] && grep -qsx 0x8086 "$node/device/vendor" && return
    done
    return 1
}

# has_gpu VENDOR: whether this machine has one of the vendor's, and lets programs see it.
has_gpu() {
    case $1 in
    cuda) command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep '^GPU ' >/dev/null ;;
    # Among AMD's nodes are the processors, which have no SIMD units.
    hip) [ -e "$machine/dev/kfd" ] &&
        grep -qs '^simd_count [1-9]' "$machine"/sys/class/kfd/kfd/topology/nodes/*/properties ;;
    ze) has_intel_gpu ;;
    *) false ;;
    esac
}

# Not in the PATH of all users.
has_library() {
    PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | grep -F "$1" >/dev/null
}

# what_is_missing VENDOR: prints what it takes to use the vendor's GPU and is not there, and where to
# get it. Nothing: it can be used.
what_is_missing() {
    case $1 in
    cuda) has_sdk cuda || echo "an NVIDIA GPU but no CUDA toolkit: package nvidia-cuda-toolkit, or the" \
        "one from NVIDIA" ;;
    hip) has_sdk hip || echo "an AMD GPU but no HIP: package libamdhip64-dev, or ROCm from AMD" ;;
    ze) if ! has_sdk ze; then
            echo "an Intel GPU but no Level Zero loader: package libze-dev of Debian, or level-zero-dev"
        elif ! has_library libze_intel_gpu.so.1; then
            echo "an Intel GPU but no driver for computing: package libze-intel-gpu1"
        fi ;;
    *) die "no such vendor: $1" ;;
    esac
}

# has_device VENDOR: whether the vendor's tests can use a device of this machine.
has_device() {
    has_gpu "$1" && [ -z "$(what_is_missing "$1")" ]
}

# Prints the preset that uses what this machine has: a vendor's, or release, for the host alone.
preset_for_this_machine() {
    local vendor missing
    for vendor in $(vendors); do
        has_gpu "$vendor" || continue
        missing=$(what_is_missing "$vendor")
        if [ -z "$missing" ]; then
            echo "$vendor"
            return
        fi
        echo "The GPU is not used: there is $missing." >&2
    done
    echo release
}
