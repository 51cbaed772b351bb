#!/usr/bin/env bash
# Fetches what run.py needs of three projects, at the commits that are pinned here, into a folder for each. Nothing of it is
# part of this repository. A machine without a network gets a copy of the folder.
# usage: tests/torch/outside/fetch.sh FOLDER
set -euo pipefail

[ $# = 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# get NAME REPOSITORY COMMIT PATH…: those files of the commit, in $folder/NAME, with the commit in a file COMMIT.
get() {
  local name=$1 repository=$2 commit=$3 clone=$work/$1
  shift 3
  git init --quiet "$clone"
  git -C "$clone" remote add origin "https://github.com/$repository"
  git -C "$clone" sparse-checkout set --no-cone "${@/#//}"
  git -C "$clone" fetch --quiet --depth 1 --filter=blob:none origin "$commit"  # files only as the checkout asks for them
  git -C "$clone" checkout --quiet "$commit"
  printf '%s\n' "$commit" >"$clone/COMMIT"
  rm -rf "$clone/.git" "${folder:?}/$name"
  mv "$clone" "$folder/$name"
  printf '%s: %s of %s, %s\n' "$name" "$commit" "$repository" "$(du -sh "$folder/$name" | cut -f1)"
}

get liger linkedin/Liger-Kernel ead96b618e5c67bddc6a6e9bcb99bfe6b5ab661c \
  LICENSE src/liger_kernel test/__init__.py test/conftest.py test/utils.py \
  test/transformers/test_rope.py test/transformers/test_swiglu.py test/transformers/test_geglu.py \
  test/transformers/test_embedding.py
# Its layers and its padding run as they are, on the kernel of flash_attention/flash_attn/ops beside this file.
get flash-attention Dao-AILab/flash-attention 0251105a2fb19d2957484b7f023cd8c115286ced \
  LICENSE tests/test_rotary.py flash_attn/layers/__init__.py flash_attn/layers/rotary.py flash_attn/bert_padding.py
get xformers facebookresearch/xformers ca6d2aa0d43241fc8a8dcd872debc2406160160d \
  LICENSE tests/__init__.py tests/utils.py tests/test_indexing.py
