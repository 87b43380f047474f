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

# quietly LOG COMMAND...: appends the output to LOG, and shows LOG only when the command fails.
quietly() {
    local log=$1
    shift
    "$@" >>"$log" 2>&1 && return
    cat "$log" >&2
    echo "failed: $* (this log is $log)" >&2
    return 1
}

# build_preset PRESET [CONFIGURE_OPTION...]: configures and builds, with the log in the build folder.
build_preset() {
    local preset=$1 log=$root/build/$1/build.log
    shift
    mkdir -p "$root/build/$preset"
    : >"$log"
    (cd "$root" && quietly "$log" cmake --preset "$preset" "$@") &&
        (cd "$root" && quietly "$log" cmake --build --preset "$preset" -j "$jobs")
}

has_cuda_device() {
    command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU '
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

# Prints the vendors that tarn has a backend for. Each is the name of a preset, too.
vendors() {
    local file
    for file in "$root"/cmake/tarn-vendor-*.cmake; do
        file=${file##*/tarn-vendor-}
        echo "${file%.cmake}"
    done
}

# has_sdk VENDOR: whether there is what the vendor's backend is compiled and linked with.
has_sdk() {
    case $1 in
    cuda) has_cuda_toolkit ;;
    hip) [ -e /usr/include/hip/hip_runtime_api.h ] || [ -e /opt/rocm/include/hip/hip_runtime_api.h ] ;;
    ze) pkg-config --exists libze_loader ;;
    *) die "no such vendor: $1" ;;
    esac
}

# has_device VENDOR: whether the vendor's tests can use a device of this machine.
has_device() {
    case $1 in
    cuda) has_cuda_device ;;
    *) false ;;
    esac
}

# Prints the preset that uses what this machine has: cuda or release.
preset_for_this_machine() {
    if ! has_cuda_device; then
        echo release
    elif ! has_cuda_toolkit; then
        echo "There is an NVIDIA GPU but no CUDA toolkit, so the host backend is used. To use the" \
            "GPU, install the toolkit: package nvidia-cuda-toolkit, or the one from NVIDIA." >&2
        echo release
    else
        echo cuda
    fi
}
