#!/usr/bin/env bash
# Programs that link libquern.a, in one process with libraries that have their own quern.
# run.sh WORK PREFIX ARCHIVE: PREFIX is an installed quern with libquern.so, ARCHIVE a libquern.a.
# Prints "ok WHAT" or "not ok WHAT" for each check; exits 1 when one failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$1 prefix=$2 archive=$3
libraries=$(dirname "$(find "$prefix" -name libquern.so)")
flags=(-std=c++17 -O1 -Wall -Wextra -Werror "-I$prefix/include")
failures=0
mkdir -p "$work"

check() {
  local what=$1 output
  shift
  if output=$("$@" 2>&1); then
    echo "ok $what"
  else
    printf '%s\nnot ok %s\n' "$output" "$what"
    failures=$((failures + 1))
  fi
}

# Prints code that would run before main, in unspecified order.
no_dynamic_initializers() { [ -e "$archive" ] && ! nm -A "$archive" 2>/dev/null | grep '_GLOBAL__sub_I'; }
# Prints objects that are destroyed before other static objects that use them. Watching the process needs no destructor.
no_static_destructors() {
  ! nm -A "$archive" 2>/dev/null | grep -E 'U __cxa_(thread_)?atexit' | grep -v process_state
}
hides_its_symbols() {
  g++ "${flags[@]}" -DQUERN_STATIC -fPIC -shared -fvisibility=hidden -fno-gnu-unique "$here/plugin.cpp" "$archive" -ldl -pthread \
    -o "$work/plugin.so" || return
  ! nm -D --defined-only --demangle "$work/plugin.so" | grep -E '^[0-9a-f]* [A-Z] quern::'
}
# A plugin need not call them, so the archive itself is looked at. Prints those that are not hidden.
hides_its_c_functions() {
  readelf --syms --wide "$archive" 2>/dev/null |
    awk '$4 == "FUNC" && $8 ~ /^quern_[a-z_]+$/ { ++count; if ($6 != "HIDDEN") { print; bad = 1 } } END { exit bad || count == 0 }'
}
has_a_version() { readelf --dyn-syms --wide "$libraries/libquern.so" | grep 'Runtime.*@@QUERN_[0-9]'; }
statics_prepare() {
  g++ "${flags[@]}" -DQUERN_STATIC "$here/statics.cpp" "$archive" -ldl -pthread -o "$work/statics" &&
    QUERN_CACHE_DIR=$work/cache "$work/statics" &&
    [ "$(find "$work/cache" -type f | grep -cE '/[0-9a-f]{32}$')" = 4 ]
}
host_and_plugin() {  # LINK WORDS OF THE HOST…
  g++ "${flags[@]}" "$here/host.cpp" "$@" -ldl -pthread -o "$work/host" &&
    LD_LIBRARY_PATH=$libraries "$work/host" "$work/plugin.so" "$libraries/libquern_hostdriver.so" "$work/cache"
}

check "libquern.a: nothing of it runs before main" no_dynamic_initializers
check "libquern.a: nothing of it is destroyed before a static Runtime of others" no_static_destructors
check "libquern.a: prepare in static initializers and destructors" statics_prepare
check "libquern.a: a program that links it exports no symbols of it" hides_its_symbols
check "libquern.a: the functions of quern/c.h are hidden" hides_its_c_functions
check "libquern.so: symbols have a version" has_a_version
check "a plugin with libquern.a in a host with libquern.so: each its own, and closing unloads" \
  host_and_plugin "-L$libraries" -lquern
check "a plugin with libquern.a in a host with libquern.a that exports all: the same" \
  host_and_plugin -DQUERN_STATIC -rdynamic "$archive"
[ $failures = 0 ]
