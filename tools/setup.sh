# shellcheck shell=bash disable=SC2034  # the lists are used by the scripts that source this
# Sourced by tools/*.sh: finds or installs what a build needs, and times steps.
# Afterwards `cmake` picks the generator, CUDA's headers are found, and NVRTC is where the library searches for it.
# QUERN_FORCE_WHEELS=1 uses CUDA from NVIDIA's wheels even if a toolkit is installed.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# Tenths of seconds since $1, a value of $EPOCHREALTIME.
seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# step NAME COMMAND…: runs it and prints its time.
step() {
  local name=$1 start=$EPOCHREALTIME status=0
  shift
  say "== $name"
  "$@" || status=$?
  say "== $name: $(seconds_since "$start") s$([ $status = 0 ] || echo ', failed')"
  return $status
}

# ---- Debian packages -----------------------------------------------------------------------------------------------

have_command() { command -v "$1" >/dev/null; }
have_header() {
  have_command c++ && printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | c++ -E -x c++ - >/dev/null 2>&1
}

# Of the Python that python3 is, which is not always Debian's.
have_python_header() {
  [ -e "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/$1" ]
}

# PACKAGE:KIND:NAME; KIND NAME tells how to detect the package.
build_packages=(
  g++:command:g++ cmake:command:cmake make:command:make pkg-config:command:pkg-config
  libspdlog-dev:header:spdlog/spdlog.h libfmt-dev:header:fmt/format.h libxxhash-dev:header:xxhash.h
  libcli11-dev:header:CLI/CLI.hpp nlohmann-json3-dev:header:nlohmann/json.hpp zlib1g-dev:header:zlib.h
  libboost-context-dev:header:boost/context/detail/fcontext.hpp)
# Optional: installed if possible.
optional_packages=(
  ninja-build:command:ninja libgtest-dev:header:gtest/gtest.h libbenchmark-dev:header:benchmark/benchmark.h)
# What the Python package needs, which all presets but release build.
python_packages=(python3:command:python3 python3-dev:python_header:Python.h)
test_packages=(
  libgtest-dev:header:gtest/gtest.h clang:command:clang++ clang-format:command:clang-format binutils:command:nm
  dpkg-dev:command:dpkg-shlibdeps file:command:file "${python_packages[@]}"
  libbenchmark-dev:header:benchmark/benchmark.h valgrind:command:valgrind)
sanitizer_packages=(clang:command:clang++ libclang-rt-dev:fuzzer:clang++)
wheel_packages=(python3:command:python3 python3-pip:pip:pip)

have_fuzzer() {
  printf 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }\n' |
    "$1" -fsanitize=fuzzer,address,undefined -x c++ - -o /dev/null 2>/dev/null
}
have_pip() { python3 -m "$1" --version >/dev/null 2>&1; }

# missing PACKAGE:KIND:NAME…: the packages that are not installed.
missing() {
  local row package kind name
  for row in "$@"; do
    IFS=: read -r package kind name <<<"$row"
    "have_$kind" "$name" || printf '%s ' "$package"
  done
}

apt_updated=
apt_install() {
  export DEBIAN_FRONTEND=noninteractive
  say "installing: $*"
  if [ -z "$apt_updated" ]; then
    apt-get -qq update
    apt_updated=1
  fi
  apt-get -qq install --yes --no-install-recommends "$@" >/dev/null
}

# need PACKAGE:KIND:NAME…: installs what is missing, or says in one sentence what to install.
need() {
  local packages
  packages=$(missing "$@")
  [ -z "$packages" ] && return
  if [ "$(id -u)" = 0 ] && have_command apt-get; then
    # shellcheck disable=SC2086  # a list of words
    apt_install $packages || fail "could not install $packages"
    packages=$(missing "$@")
    [ -z "$packages" ] && return
  fi
  fail "install these Debian packages first (as root, or run this as root): $packages"
}

# want PACKAGE:KIND:NAME…: the same, but continues without them.
want() {
  local packages
  packages=$(missing "$@")
  if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && have_command apt-get; then
    # shellcheck disable=SC2086
    apt_install $packages || say "continuing without $packages"
  fi
}

# ---- Python's wheels -----------------------------------------------------------------------------------------------

# install_wheels FOLDER REQUIREMENT…: once.
install_wheels() {
  local folder=$1
  shift
  [ -e "$folder/complete" ] && return
  need "${wheel_packages[@]}" >&2  # callers print a path
  say "getting the wheels $*" >&2
  rm -rf "$folder"
  mkdir -p "$folder"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --only-binary :all: \
    --target "$folder" "$@" >&2 || return
  touch "$folder/complete"
}

# The one file under $1 that is named $2.
wheel_file() {
  local file
  file=$(find "$1" -name "$2" -print -quit)
  [ -n "$file" ] || fail "$1 holds no $2: remove the folder and try again"
  printf '%s\n' "$file"
}

# The path of a clang-tidy that takes a third of the time of Debian's.
clang_tidy() {
  local folder=$root/build/clang-tidy-wheel
  install_wheels "$folder" 'clang-tidy==23.1.4' || return
  wheel_file "$folder/clang_tidy" clang-tidy
}

# python_wheels NAME REQUIREMENT…: the folder to put in PYTHONPATH, for the Python that python3 is.
python_wheels() {
  local name=$1 version
  shift
  need "${wheel_packages[@]}" >&2
  version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])') || return
  local folder=$root/build/$name-python$version
  install_wheels "$folder" "$@" || return
  printf '%s\n' "$folder"
}
# The packages whose arrays the tests of the Python package use.
python_test_wheels() { python_wheels test-wheels 'numpy==2.*' 'ml_dtypes==0.*'; }
# What builds quern's wheel, looks into it and names it. The last three are for Python 3.10.
python_build_wheels() {
  python_wheels wheel-tools 'scikit-build-core==1.1.*' 'wheel==0.*' packaging pathspec 'auditwheel==6.*' pyelftools abi3info \
    exceptiongroup tomli typing_extensions
}

# ---- CUDA: headers and NVRTC ---------------------------------------------------------------------------------------

# The newest toolkit of CUDA 12 or newer that has the headers and NVRTC, as a folder.
find_toolkit() {
  local folder
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda $(printf '%s\n' /usr/local/cuda-* | sort -rV); do
    [ -n "$folder" ] && [ -e "$folder/include/cuda.h" ] && [ -e "$folder/include/nvrtc.h" ] || continue
    compgen -G "$folder/lib64/libnvrtc.so.1[2-9]" >/dev/null || continue
    printf '%s\n' "$folder"
    return
  done
  return 1
}

setup_cuda() {
  local toolkit folder=$root/build/cuda-wheels header
  if [ -z "${QUERN_FORCE_WHEELS:-}" ]; then
    if [ -n "${QUERN_CUDA_INCLUDE:-}" ] && [ -n "${QUERN_NVRTC:-}" ]; then
      say "CUDA: headers in $QUERN_CUDA_INCLUDE, NVRTC in $QUERN_NVRTC"
      return
    fi
    if toolkit=$(find_toolkit); then
      export CUDA_HOME=$toolkit QUERN_CUDA_INCLUDE=$toolkit/include
      say "CUDA: toolkit in $toolkit"
      return
    fi
  fi
  # The first of CUDA 13: every driver of CUDA 13 loads its images.
  install_wheels "$folder" 'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' ||
    fail "quern needs the headers and NVRTC of CUDA 12 or newer: install a toolkit and set CUDA_HOME to it, or make" \
      "NVIDIA's wheels nvidia-cuda-nvrtc and nvidia-cuda-runtime reachable for pip"
  header=$(wheel_file "$folder" cuda.h) || exit 1
  QUERN_CUDA_INCLUDE=$(dirname "$header")
  QUERN_NVRTC=$(wheel_file "$folder" libnvrtc.so.13) || exit 1
  export QUERN_CUDA_INCLUDE QUERN_NVRTC
  [ -e "$QUERN_CUDA_INCLUDE/nvrtc.h" ] || QUERN_CUDA_INCLUDE+=";$(dirname "$(wheel_file "$folder" nvrtc.h)")"
  say "CUDA: NVIDIA's wheels in $folder"
}

# The path of the newest NVRTC of CUDA 12, from its wheel.
cuda12_nvrtc() {
  local folder=$root/build/cuda12-wheels
  install_wheels "$folder" nvidia-cuda-nvrtc-cu12 || return
  wheel_file "$folder" libnvrtc.so.12
}

# ---- Building ------------------------------------------------------------------------------------------------------

setup() {
  need "${build_packages[@]}"
  want "${optional_packages[@]}"
  if have_command ninja; then export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}; fi
  setup_cuda
}

# build PRESET [TARGET…]
build() {
  local preset=$1
  shift
  [ "$preset" = release ] || need "${python_packages[@]}"
  cmake --preset "$preset" -S "$root" "-DQUERN_CUDA_INCLUDE=$QUERN_CUDA_INCLUDE" >"$root/build/$preset.configure.log" || {
    cat "$root/build/$preset.configure.log"
    return 1
  }
  cmake --build "$root/build/$preset" --parallel "$(nproc)" ${1:+--target "$@"}
}
