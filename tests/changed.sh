#!/usr/bin/env bash
# changed.sh - names of the specs that a change touches, for `make test ONLY=changed`.
#
# A changed spec is itself; a changed source file stands for the specs whose name holds its own or that of its folder, or whose text names its
# module. Files against the last commit, new ones included. Fails when a source file is changed and no spec is found.
set -euo pipefail
cd "$(dirname "$0")/.."
specs=()
for path in $( (git diff --name-only HEAD; git ls-files --others --exclude-standard) | sort -u); do
  name=$(basename "$path") && name=${name%.*}
  folder=$(basename "$(dirname "$path")")
  case $path in
    tests/spec/*_spec.lua) specs+=("$name") ;;
    lua/*.lua | runtime/*.[ch] | kernels/*.[ch] | scripts/*.lua | bindings/*.[ch])
      key=${name#mc_} && key=${key#mck_}
      [ "$key" != init ] || key=$folder
      module=$(sed -e 's|^lua/||; s|\.lua$||; s|/init$||; s|/|.|g' <<<"$path")
      for spec in tests/spec/*_spec.lua; do
        own=$(basename "$spec" .lua)
        if [[ $own == "$key"_* || $own == *"_$key"_* || $own == "$folder"_* ]] || grep -qF "'$module'" "$spec"; then specs+=("$own"); fi
      done ;;
    *) continue ;;
  esac
done
if [ ${#specs[@]} -eq 0 ]; then
  echo "no spec is known for what has changed; name some: make test ONLY='index fft'" >&2
  exit 1
fi
printf '%s\n' "${specs[@]}" | sort -u
