#!/usr/bin/env bash
# run.sh - builds the fuzz targets and replays their corpus; with a number of seconds also fuzzes each that long.
# usage: run.sh [SECONDS]   (environment: B build folder, default build; CC and CLANG compilers)
# Replaying needs gcc with sanitizers only, fuzzing needs clang. Crashers land in $B/fuzz; once fixed, copy them to the
# corpus as crash-WHAT. Run from the top of the tree, after the generated headers exist. Readers in Lua are fuzzed by
# readers.lua, in the built program.
set -euo pipefail
seconds=${1:-0}
B=${B:-build}
CC=${CC:-gcc}
CLANG=${CLANG:-clang}
flags="-std=c11 -g -O1 -D_XOPEN_SOURCE=700 -Iruntime -I$B/gen -fsanitize=address,undefined -fno-sanitize-recover=all"
sources="$(ls runtime/formats/*.c | grep -v /mc_hdf5) runtime/base/mc_error.c runtime/base/mc_crc.c tests/fuzz/host.c bindings/zlib/zlib.c"
mkdir -p "$B/fuzz"
for target in npy npz edf fif mat; do
  $CC $flags $sources tests/fuzz/fuzz_$target.c tests/fuzz/replay.c -lz -lm -o "$B/fuzz/replay_$target"
  "$B/fuzz/replay_$target" tests/fuzz/corpus/$target/* 2> "$B/fuzz/replay_$target.log" ||
    { tail -n 40 "$B/fuzz/replay_$target.log" >&2; exit 1; }
  [ "$seconds" -gt 0 ] || continue
  $CLANG $flags -fsanitize=fuzzer $sources tests/fuzz/fuzz_$target.c -lz -lm -o "$B/fuzz/fuzz_$target"
  mkdir -p "$B/fuzz/found_$target"
  "$B/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1500 -print_final_stats=1 \
    -artifact_prefix="$B/fuzz/crash-$target-" "$B/fuzz/found_$target" tests/fuzz/corpus/$target
done
[ ! -x "$B/mascon" ] || "$B/mascon" tests/fuzz/readers.lua "$seconds"
