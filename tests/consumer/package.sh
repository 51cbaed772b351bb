# shellcheck shell=bash disable=SC2154
# The packages that cpack makes: their metadata, and quern when they are installed or unpacked. Sourced by run.sh.

packages=$work/packages
debian=$work/debian
version=$("$work/prefix/bin/quern" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -1)

make_packages() { cpack --config "$build/CPackConfig.cmake" -B "$packages" && ls "$packages"/quern-"$version"-linux-*.tar.gz; }

# deb_says FIELD WORDS
# grep reads to the end: one that stops at the first match ends the others with a signal.
deb_says() { dpkg-deb --field "$deb" "$1" | tee /dev/stderr | grep -F -- "$2" >/dev/null; }

# In a root of its own, which knows the packages of this machine: what the package depends on must be there. Its scripts
# run ldconfig, which here does nothing.
dpkg_there() {
  PATH=$debian/stub:$PATH dpkg --root="$debian" --log="$work/dpkg.log" --force-script-chrootless "$@" 2>&1 |
    grep -v 'files list file for package'
  return "${PIPESTATUS[0]}"
}
install_deb() {
  mkdir -p "$debian/stub" "$debian"/var/lib/dpkg/{info,updates} && cp /var/lib/dpkg/status "$debian/var/lib/dpkg" &&
    ln -s /bin/true "$debian/stub/ldconfig" || return
  if [ "$(id -u)" = 0 ]; then dpkg_there --install "$deb"; else dpkg-deb --extract "$deb" "$debian"; fi
}
remove_deb() {
  [ -x "$debian/usr/bin/quern" ] && dpkg_there --remove quern || return
  if find "$debian/usr" -type f | grep .; then return 1; fi
}

unpack() { mkdir -p "$1" && tar -C "$1" --strip-components=1 -xzf "$packages"/quern-"$version"-linux-*.tar.gz; }

runs() {
  "$1/bin/quern" list && [ -s "$1/share/man/man1/quern.1" ] && [ -s "$1/share/bash-completion/completions/quern" ] &&
    [ -s "$1/share/doc/quern/docs/operations.md" ] && grep -q "^## .*$version" "$1/share/doc/quern/CHANGELOG.md" &&
    "$1/bin/quern" run gather rows=8 count=8 width=8 --device host --verify --cache-dir "$work/cache"
}

# serves NAME TREE: the command runs there, and applications are built against it.
serves() {
  local prefix=$2
  check "$1: all is there and a kernel runs, verified" runs "$prefix"
  check "$1: find_package, an application builds" build_app "$2.app" -DCMAKE_PREFIX_PATH="$prefix"
  check "$1: find_package, it runs" run_app "$2.app/app17"
  check "$1: pkg-config" compile_whole g++ 17
}

check "cpack makes packages" make_packages
check "the tarball, unpacked where a name has a space: unpacks" unpack "$work/two words"
check "the tarball, unpacked where a name has a space: all is there and a kernel runs, verified" runs "$work/two words"
check "the tarball, unpacked: unpacks" unpack "$work/unpacked"
serves "the tarball, unpacked" "$work/unpacked"

if command -v dpkg >/dev/null; then
  deb=$(find "$packages" -maxdepth 1 -name 'quern_*.deb')
  check "the .deb has its version" deb_says Version "$version"
  check "the .deb has its architecture" deb_says Architecture "$(dpkg --print-architecture)"
  check "the .deb has its dependencies" deb_says Depends libstdc++6
  check "the .deb has a description" deb_says Description 'command quern'
  check "the .deb installs" install_deb
  serves "the .deb, installed" "$debian/usr"
  if [ "$(id -u)" = 0 ]; then check "the .deb goes without a file left" remove_deb; fi
fi
