#!/usr/bin/env bash
# Builds quern's wheel for other Linux machines, with the lowest manylinux tag that auditwheel grants it: which one
# depends on the compiler and the C library of this machine. Prints the wheel's path.
set -euo pipefail
if [ $# = 0 ] || [ "$1" = --help ] || [ "$1" = -h ]; then
  echo "usage: tools/wheel.sh FOLDER [OPTION…]    the wheel goes to FOLDER; each OPTION is one of pip wheel"
  exit $(($# == 0 ? 2 : 0))
fi
# shellcheck source=tools/setup.sh
source "$(dirname "$0")/setup.sh"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
setup >&2
tools=$(python_build_wheels) || fail "could not get what builds wheels"
python() { PYTHONPATH=$tools python3 "$@"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python -m pip wheel --no-build-isolation --no-deps --no-index --wheel-dir "$work" "$@" "$root" >&2
plain=$(wheel_file "$work" '*.whl')
shown=$(python -m auditwheel show "$plain")
tag=$(tr '\n' ' ' <<<"$shown" | sed -nE 's/.*is consistent with the following platform tag: *"([a-z0-9_]+)".*/\1/p')
case $tag in
  manylinux_*) ;;
  *) fail "auditwheel grants the wheel no manylinux tag: $shown" ;;
esac
name=$(python -m wheel tags --remove --platform-tag "$tag" "$plain")
mv "$work/$name" "$folder/"
printf '%s\n' "$folder/$name"
