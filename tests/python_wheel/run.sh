#!/usr/bin/env bash
# Builds quern's wheel and uses it as its users do. run.sh WORK: a build that lies there is continued.
# Prints "ok WHAT" or "not ok WHAT" for each check; exits 1 when one failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/setup.sh
source "$here/../../tools/setup.sh"
work=$1
failures=0

# check WHAT COMMAND…: its output is shown when it fails.
check() {
  local what=$1 output start=$EPOCHREALTIME
  shift
  if output=$("$@" 2>&1); then
    printf 'ok %s (%s s)\n' "$what" "$(seconds_since "$start")"
  else
    printf '%s\nnot ok %s\n' "$output" "$what"
    failures=$((failures + 1))
  fi
}

# ---- Building it ---------------------------------------------------------------------------------------------------

with_tools() { PYTHONPATH=$build_wheels "$@"; }
# make_wheel FOLDER OPTION…: pip with what builds wheels at hand, so that it gets nothing.
make_wheel() {
  with_tools python3 -m pip wheel --no-build-isolation --no-deps --no-index --wheel-dir "$1" "${@:2}" "$root"
}
says_what_is_missing() {
  local output
  output=$(CMAKE_ARGS=-DCMAKE_IGNORE_PATH=/usr/include make_wheel "$work/none" 2>&1) && return 1
  tail -25 <<<"$output" | grep 'install the Debian package' || { printf '%s\n' "$output"; return 1; }
}

# ---- Looking into it -----------------------------------------------------------------------------------------------

# Without links to libraries that a system may lack; the tag depends on the compiler that built it.
suits_many_linuxes() {
  with_tools python3 -m auditwheel show "$wheel" | tee /dev/stderr | grep -E '"manylinux_2_[0-9]+_' >/dev/null
}
is_stripped() {
  local file
  for file in "$package"/*.so* "$package/bin/quern"; do
    if nm "$file" 2>/dev/null | grep . >/dev/null; then
      printf '%s has symbols\n' "$file"
      return 1
    fi
  done
}
limited_interface() { nm -D --undefined-only "$package/_quern.abi3.so" | with_tools python3 "$here/limited.py"; }

# ---- Using it ------------------------------------------------------------------------------------------------------

# Without pip of its own: Debian keeps that in another package.
install_wheel() {
  python3 -m venv --without-pip "$venv" &&
    python3 -m pip --python "$venv/bin/python" install --no-index --no-deps "$wheel" &&
    mkdir "$work/path" && for program in c++ as ld; do ln -s "$(command -v "$program")" "$work/path" || return; done
}
# On a machine with a C++ compiler and no more.
alone() {
  env -i "HOME=$work/home" "PATH=$venv/bin:$work/path" "QUERN_CACHE_DIR=$work/cache" "$@"
}
prints() {
  local expected=$1 output
  shift
  output=$("$@") && printf '%s\n' "$output" && grep -qE -- "$expected" <<<"$output"
}

# ---- The checks ----------------------------------------------------------------------------------------------------

mkdir -p "$work"
work=$(cd "$work" && pwd)
venv=$work/venv
rm -rf "${work:?}"/{dist,none,venv,path,cache,home}
setup_cuda >/dev/null
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
build_wheels=$(python_build_wheels) || fail "could not get what builds wheels"
test_wheels=$(python_test_wheels) || fail "could not get NumPy"
version=$(sed -nE 's/^project\(quern VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt")

check "pip says which package is missing" says_what_is_missing
# Without optimization, which is half of a build's time, and by clang, which takes half of the rest. The size is
# another one then, and the tag is that of clang's wheel.
check "the wheel builds" env CC=clang CXX=clang++ "$root/tools/wheel.sh" "$work/dist" --config-settings "build-dir=$work/build" \
  --config-settings "cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG"
wheel=$(find "$work/dist" -name '*.whl')
[ -n "$wheel" ] || exit 1
check "the wheel is small, for CPython 3.10 and newer, and holds what it should" \
  python3 "$here/contents.py" "$wheel" "$version" "$root/python/quern"
check "it runs on other Linuxes" suits_many_linuxes
check "it installs" install_wheel
package=$(find "$venv" -type d -path '*/site-packages/quern')
check "it is stripped" is_stripped
check "its module needs the limited interface of Python 3.10 only" limited_interface
check "import quern" prints "^$version\$" alone python -c 'import quern; print(quern.__version__)'
check "the command" prints "^quern $version" alone quern --version
check "python -m quern" prints '\bgather\b' alone python -m quern list
check "the command finds the host driver" alone quern run gather rows=8 count=8 width=8 --device host --verify
check "without NumPy: prepare" alone python "$here/prepare.py"
check "with NumPy: gather on the CPU" alone "PYTHONPATH=$test_wheels" python "$here/gather.py"
check "import quern takes less than 30 ms" alone python "$here/import_time.py"
[ $failures = 0 ]
