#!/usr/bin/env bash
# Builds each C test against the kernel objects of the levels this machine has and libmascon; see the comment at the head of each test.
# usage: build.sh FILE.c...   (environment: B build folder, CC, INC, CSTD from the Makefile)
set -euo pipefail
mkdir -p "$B/tests"
for src in "$@"; do
  name=$(basename "$src" .c)
  out="$B/tests/$name"
  line=$(sed -n 's/^ \* build: *//p' "$src" | head -n 1)
  [ -n "$line" ] || { echo "tests/c/$name.c: no ' * build:' line" >&2; exit 1; }
  if [ ! -e "$out" ] || [ "$src" -nt "$out" ] || [ "$B/libmascon.so" -nt "$out" ]; then
    eval "$CC $CSTD -Wno-conversion -O2 -g $INC -o $out $src $line"
  fi
done
