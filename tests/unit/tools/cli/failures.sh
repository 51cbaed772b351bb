# shellcheck shell=bash disable=SC2154
# Compiles that failed, as the command shows and forgets them. Sourced by ../cli_test.sh.

if command -v c++ >/dev/null; then
  cat >failing-c++ <<TEXT
#!/bin/sh
[ -e "$work/broken" ] && [ "\$1" != --version ] || exec c++ "\$@"
echo "gather/gather.cu:1:1: error: made up"
exit 1
TEXT
  chmod +x failing-c++
  export QUERN_CXX=$work/failing-c++ QUERN_CACHE_DIR=$work/failures
  small='gather width=24 --arch host'
  : >broken
  # shellcheck disable=SC2086
  expect 3 'made up' prewarm $small
  expect 0 '| gather | host ' cache list
  expect 0 '"failure":"' cache list --json
  # shellcheck disable=SC2086
  expect 0 'is not tried again for ten minutes' cache explain $small
  # shellcheck disable=SC2086
  expect 0 '"verdict":"failed"' cache explain $small --json
  rm broken
  echo '{"problem":"gather width=24","arch":"host"}' >failed.jsonl
  expect 3 'remembered of an earlier compile; `quern prewarm` of this problem tries it again' prewarm --manifest failed.jsonl
  # shellcheck disable=SC2086
  expect 0 compiled prewarm $small
  # shellcheck disable=SC2086
  expect 0 '"verdict":"hit"' cache explain $small --json
  : >broken
  expect 3 'made up' prewarm gather width=24 dtype=f32 --arch host
  rm broken
  expect 0 '"failures":1' cache prune --json
  check 'prune leaves no failure' sh -c '[ -z "$(find "$QUERN_CACHE_DIR" -name "*.failed")" ]'
  echo '{"problem":"gather width=24 dtype=f32","arch":"host"}' >failed.jsonl
  expect 0 compiled prewarm --manifest failed.jsonl
  unset QUERN_CXX
  export QUERN_CACHE_DIR=$work/cache
fi
