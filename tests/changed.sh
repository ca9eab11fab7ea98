#!/usr/bin/env bash
# changed.sh - names of the specs that a change touches, for `make test ONLY=changed`.
#
# A changed spec is itself; a changed source file stands for the specs whose name holds its own or that of its folder,
# or whose text names its module or its path. Where nothing narrower is known (rows of the op table, the generator,
# headers that many files include, what tests share), it says so and names them all. Files against the last commit, new
# ones included; CHANGED='path path' takes the place of git's list.
set -euo pipefail
cd "$(dirname "$0")/.."
specs=()
everything() {
  echo "changed: $1 touches what no part of the specs covers alone; the whole suite runs" >&2
  echo _spec # part of every name
  exit 0
}
MANY=12 # files that include a header, from which on it is everybody's

changed=${CHANGED:-$( (git diff --name-only HEAD; git ls-files --others --exclude-standard) | sort -u)}
for path in $changed; do
  name=$(basename "$path") && name=${name%.*}
  folder=$(basename "$(dirname "$path")")
  case $path in
    tests/spec/*_spec.lua) [ ! -f "$path" ] || specs+=("$name"); continue ;;
    *.md | *.txt | bench/* | docs/* | LICENSE | .git* | .clang-format | tests/lint/* | tests/golden/*.py) continue ;;
    tests/c/*) key=${name} ;;
    runtime/ops/* | runtime/base/* | runtime/mc*.h | runtime/mascon.h | Makefile | tests/support/* | tests/tol.lua | tests/run.lua) everything "$path" ;;
    lua/mascon/core/* | lua/mascon/init.lua) everything "$path" ;;
    kernels/mck*.h | runtime/*/*.h)
      # what the compiler saw, else what the sources say
      seen=$( (grep -rlF --include='*.d' "$path" build/obj 2>/dev/null || true) | wc -l)
      said=$( (grep -rlF "$(basename "$path")\"" runtime kernels bindings || true) | wc -l)
      [ $((seen > said ? seen : said)) -lt "$MANY" ] || everything "$path" ;;&
    lua/*.lua | runtime/*.[ch] | kernels/*.[ch] | kernels/*.lua | scripts/*.lua | bindings/*.[ch] | tests/*)
      key=${name#mc_} && key=${key#mck_} ;;
    *) everything "$path" ;;
  esac
  [ "$key" != init ] || key=$folder
  module=$(sed -e 's|^lua/||; s|\.lua$||; s|/init$||; s|/|.|g' <<<"$path")
  before=${#specs[@]}
  parts=("$key" "$folder")
  IFS=_ read -r -a words <<<"$key"
  [[ $path == lua/* ]] || parts+=("${words[@]}")
  for spec in $(grep -lF -e "'$module'" -e "$path" tests/spec/*_spec.lua || true); do
    [ "$spec" = tests/spec/changed_spec.lua ] || specs+=("$(basename "$spec" .lua)")
  done
  for spec in tests/spec/*_spec.lua; do
    own=${spec##*/} && own=${own%.lua}
    for part in "${parts[@]}"; do
      case $part in cpu | c | support | family | device | own | x) continue ;; esac
      if [[ $own == "$part"_* || $own == *"_$part"_* ]]; then specs+=("$own"); continue 2; fi
    done
  done
  [ ${#specs[@]} -gt "$before" ] || everything "$path"
done
if [ ${#specs[@]} -eq 0 ]; then
  echo "changed: no source and no spec differs from the last commit" >&2
  exit 1
fi
printf '%s\n' "${specs[@]}" | sort -u
