#!/usr/bin/env bash
# check.sh - what `make check` runs beyond `make test`: lint, asserts, sanitizers, stress, fuzzing. One line per step at the end.
#
# usage: tests/check.sh [STEP...]   Steps: lint docs debug threads plain bare repeat asan fuzz (these by default); isa jitoff gc (one at a time what
# plain and debug do together, to find out which of them a failure is about)
# B is the release build to check (default build); LEVELS=v3 keeps the others to one ISA level.
# Each step builds what it needs (debug into build-debug, the sanitizers into build-asan), writes build/check-STEP.log and counts as
# passed by its exit status. Exit status 0 when every step passed.
set -uo pipefail
cd "$(dirname "$0")/.."
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(lint docs debug threads plain bare repeat asan fuzz)
MAKE=${MAKE:-make}
B=${B:-build}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:detect_stack_use_after_return=0} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

step_lint() { $MAKE --no-print-directory lint; }
step_docs() { $MAKE --no-print-directory docs; }
# The ISA level that this machine runs.
level() { "$B/mascon" -e 'io.write(require "mascon".info().isa)'; }
# asserts live and no warning left, forced collections, more workers than processors. Kernels hold no asserts and are compiled as in the
# release: one level will do, and their own tests are those of `make test`.
step_debug() {
  $MAKE --no-print-directory MODE=debug WERROR=1 LEVELS="$(level)" tests-c && MASCON_NUM_THREADS=4 MASCON_TEST_GC=1 tests/run.sh build-debug runtime
}
# Without any optional neighbour: the workflows' plug-ins alone are there. What needs a neighbour has to name its package; those tests are skipped.
step_bare() {
  local at=build-bare
  rm -rf "$at" && mkdir -p "$at/plugins" && cp "$B/mascon" "$B/libmascon.so" "$at/" && cp "$B"/plugins/mc_wf_*.so "$at/plugins/" &&
    ln -s "$(realpath "$B/lua")" "$at/lua" && ln -s "$(realpath "$B/gen")" "$at/gen" || return 1
  MASCON=$(realpath "$at")/mascon MASCON_CACHE=$(realpath "$B")/cache MASCON_TEST_BARE=1 tests/run.sh "$at" lua
}
# What cuts large work, with as many threads as it may meet; the other specs run with 4 in `debug`, with 1 in `plain`.
step_threads() {
  local n spec
  for n in 1 2 4; do
    for spec in threads property ops_matrix native matmul; do
      echo "$spec, threads: $n"
      MASCON_NUM_THREADS=$n "$B/mascon" tests/run.lua ${spec}_spec.lua || return 1
    done
  done
}
# the plainest machine: kernels without wide instructions, one thread, no compiled Lua
step_plain() { MASCON_ISA=v2 MASCON_NUM_THREADS=1 MASCON_TEST_JITOFF=1 tests/run.sh "$B" lua; }
step_isa() { MASCON_ISA=v2 tests/run.sh "$B" lua; }
step_jitoff() { MASCON_TEST_JITOFF=1 tests/run.sh "$B" lua; }
step_gc() { MASCON_TEST_GC=1 tests/run.sh "$B" lua; }
# one script, 20 runs, any number of threads: one text
step_repeat() {
  local i
  for i in $(seq 20); do MASCON_NUM_THREADS=$((1 + i % 4)) "$B/mascon" tests/repeat.lua || return 1; done | sort | uniq -c | tee $B/check-repeat.txt
  awk '$1 != 20 { bad = 1 } END { exit bad || NR == 0 }' $B/check-repeat.txt
}
# every byte from malloc, so that the sanitizer sees the end of each block; a sanitized program keeps its own leaks in C tests only. The plain
# kernels (v2) and those with intrinsics (the level of this machine) hold all there is to see.
step_asan() {
  $MAKE --no-print-directory MODE=asan LEVELS="$(asan_levels)" tests-c && MASCON_MEMORY_CACHE=0 ASAN_OPTIONS=$ASAN_OPTIONS tests/run.sh build-asan
}
asan_levels() {
  case " ${LEVELS:-v2} $(level) " in
    *" v2 v2 "*) echo v2 ;;
    *" v2 "*) echo "v2 $(level)" ;;
    *) level ;;
  esac
}
step_fuzz() {
  if command -v clang >/dev/null; then tests/fuzz/run.sh "${FUZZ_SECONDS:-30}"; else tests/fuzz/run.sh 0; fi
}

mkdir -p "$B"
failed=0 table=()
for step in "${steps[@]}"; do
  if ! declare -F "step_$step" >/dev/null; then echo "check: no step '$step'; there are lint docs debug threads plain bare repeat asan fuzz isa jitoff gc" >&2; exit 2; fi
  began=$SECONDS
  if "step_$step" >"$B/check-$step.log" 2>&1; then
    verdict=passed
  else
    verdict=FAILED failed=$((failed + 1))
    echo "--- $step failed; the end of $B/check-$step.log:"
    tail -n 25 "$B/check-$step.log"
  fi
  table+=("$(printf '%-8s %-7s %4d s  %s' "$step" "$verdict" $((SECONDS - began)) "$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$B/check-$step.log" | tail -n 1)")")
  echo "${table[-1]}"
done
echo
printf '%s\n' "${table[@]}"
echo "$((${#steps[@]} - failed)) of ${#steps[@]} checks passed"
[ "$failed" -eq 0 ]
