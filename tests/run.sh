#!/usr/bin/env bash
# run.sh - runs every test and ends with one line for all of them: "N passed, M failed[, K skipped]".
#
# usage: tests/run.sh BUILD [c|lua|all|runtime] [arguments for tests/run.lua]   (BUILD: the build folder, default build; runtime: all but the C
# tests of kernels alone)
# First the C tests that BUILD/tests/list names, then the specs inside the program, two at a time (JOBS). A C test prints its own
# count line; one that prints none counts as one test by its exit status, one that dies as failed. Programs for an ISA
# level this machine lacks count as skipped. Exit status 0 when nothing failed. Output of failures is shown, all of it
# lies in BUILD/tests/*.log. A C program gets 15 minutes, the specs LIMIT seconds (default an hour). Before the last line stands what failed,
# by name, so that the end of a log tells it; the same text lies in BUILD/tests/failures.txt. With TREE=1 (nobody edits meanwhile: CI) files
# that tests left or changed in the checkout count as a failure.
set -uo pipefail
cd "$(dirname "$0")/.."
B=${1:-build}
parts=${2:-all}
shift $(($# < 2 ? $# : 2))
passed=0 failed=0 skipped=0
mkdir -p "$B/tests"
failures=$B/tests/failures.txt
: >"$failures"
tree() { [ -z "${TREE:-}" ] || git status --porcelain --untracked-files=all | LC_ALL=C sort; }
before=$(tree)
# what specs compile is kept with the build, not in the user's folder
export MASCON_CACHE=${MASCON_CACHE:-$(realpath -m "$B")/cache}
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$(realpath -m "$B")/pocl}
mkdir -p "$POCL_CACHE_DIR"
# A shell that runs us in the background may have Ctrl-C ignored, which tests of signals would inherit.
fresh=()
if env --default-signal true 2>/dev/null; then fresh=(env --default-signal); fi

# Adds the counts of the last count line in a log: count FILE STATUS
count() {
  local line n m k
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$1" | tail -n 1)
  if [ -n "$line" ]; then
    read -r n m k <<<"$(sed -E 's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?.*/\1 \2 \4/' <<<"$line")"
    passed=$((passed + n)) failed=$((failed + m)) skipped=$((skipped + ${k:-0}))
    # a program that dies after its count, or says 0 failed and means it not
    if [ "$2" -ne 0 ] && [ "$m" -eq 0 ]; then failed=$((failed + 1)); fi
  elif [ "$2" -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

has_level() {
  local need flags
  case $1 in
    v2) return 0 ;;
    v3) need='avx2 bmi2 fma' ;;
    v4) need='avx2 bmi2 fma avx512f avx512bw avx512cd avx512dq avx512vl' ;;
  esac
  flags=" $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1) "
  for f in $need; do [[ $flags == *" $f "* ]] || return 1; done
}

# Text of standard input for the list of failures: MOST lines, each cut.
brief() { tail -n "$1" | cut -c1-200 | sed 's/^/    /'; }

run_one() { # KIND NAME: leaves NAME.log and NAME.rc
  local kind=$1 name=$2 at="$B/tests/$2"
  case $kind in
    plugins) timeout 900 "${fresh[@]}" "$at" "$B/plugins" ;;
    corpus) timeout 900 "${fresh[@]}" "$at" tests/fuzz/corpus/"${name#fuzz_}"/* ;;
    *) timeout 900 "${fresh[@]}" "$at" ;;
  esac >"$at.log" 2>&1 </dev/null
  echo $? >"$at.rc"
}

# Work is divided among workers (JOBS): each takes the next C test that no other has begun, then goes on with the specs, so
# that none waits for the longest. What is begun has a folder in the queue.
queue=$(mktemp -d) || exit 1
trap 'rm -rf "$queue"' EXIT
mkdir "$queue/c" "$queue/lua"
todo=()

list_c() {
  local kind name
  while read -r kind name; do
    if [ "$kind" = levels ] && [ "$parts" = runtime ]; then
      continue
    elif [ "$kind" = levels ] && ! has_level "${name##*.}"; then
      echo "  $name: skipped, this machine has no ${name##*.}"
      skipped=$((skipped + 1))
    else
      todo+=("$kind $name")
      rm -f "$B/tests/$name.rc"
    fi
  done <"$B/tests/list"
}

run_c() {
  local line
  for line in "${todo[@]}"; do
    mkdir "$queue/c/${line#* }" 2>/dev/null && run_one $line
  done
}

# The counts of the C tests, once all of them have ended.
report_c() {
  local line name rc before
  for line in "${todo[@]}"; do
    name=${line#* }
    until [ -s "$B/tests/$name.rc" ] || [ -z "$(jobs -rp)" ]; do sleep 0.2; done
    rc=$(cat "$B/tests/$name.rc" 2>/dev/null || echo 255)
    before=$failed
    count "$B/tests/$name.log" "$rc"
    if [ "$failed" -gt "$before" ]; then
      echo "  $name: FAILED (exit status $rc); the end of $B/tests/$name.log:"
      tail -n 15 "$B/tests/$name.log" | sed 's/^/    /'
      { echo "FAILED C test $name (exit status $rc)"; grep -vE '^[0-9]+ passed' "$B/tests/$name.log" | brief 5; } >>"$failures"
    else
      line=$(grep -E '^[0-9]+ passed' "$B/tests/$name.log" | tail -n 1)
      echo "  $name: ${line:-passed}"
    fi
  done
}

# Specs as worker K, with arguments once. A process runs a few files and makes room for the next: specs that measure memory
# collect the whole heap at every call, which takes long in one that grew.
run_lua() { # K [ARGUMENTS]
  local k=$1 i=0 log most="--files 8"
  shift
  [ $# -gt 0 ] && most=
  while [ "$(find "$queue/lua" -mindepth 1 | wc -l)" -lt "$files" ] && [ "$i" -lt "$files" ]; do
    i=$((i + 1))
    log=$B/tests/specs$k.$(printf %03d "$i")
    timeout --foreground "${LIMIT:-3600}" "${fresh[@]}" "${MASCON:-$B/mascon}" tests/run.lua --queue "$queue/lua" $most --failures "$(realpath -m "$log").failed" "$@" >"$log.log" 2>&1 </dev/null
    echo $? >"$log.rc"
    [ $# -gt 0 ] && break
  done
}

# Their counts and logs; with arguments not all files were to run.
report_lua() {
  local log rc
  [ $# -gt 0 ] || [ "$(find "$queue/lua" -mindepth 1 | wc -l)" -eq "$files" ] || { echo "FAILED spec files were left out" | tee -a "$failures"; failed=$((failed + 1)); }
  for log in "$B"/tests/specs*.log; do
    rc=$(cat "${log%.log}.rc")
    cat "${log%.log}.failed" >>"$failures" 2>/dev/null
    if [ -e "${log%.log}.failed.now" ]; then
      { echo "FAILED $(cat "${log%.log}.failed.now"): the process ended while it ran (exit status $rc)"; brief 5 <"$log"; } >>"$failures"
    elif [ "$rc" -ne 0 ] && ! grep -qE '^[0-9]+ passed, [0-9]+ failed' "$log"; then
      { echo "FAILED $(basename "${log%.log}") (exit status $rc)"; brief 5 <"$log"; } >>"$failures"
    fi
    grep -vE '^[0-9]+ passed, [0-9]+ failed' "$log"
    echo "  $(basename "${log%.log}"): $(grep -E '^[0-9]+ passed' "$log" | tail -n 1) (exit status $rc)"
    count "$log" "$rc"
  done
}

c= lua=
case $parts in
  c) c=1 ;;
  lua) lua=1 ;;
  all | runtime) c=1 lua=1 ;;
  *) echo "run.sh: no part '$parts'; there are c, lua, all and runtime" >&2; exit 2 ;;
esac
files=$(find tests/spec -name '*_spec.lua' | wc -l)
[ -z "$c" ] || list_c
[ -z "$lua" ] || rm -f "$B"/tests/specs*.*
for ((k = 1; k <= ${JOBS:-2}; k++)); do
  (
    trap - EXIT
    [ -z "$c" ] || run_c
    [ -z "$lua" ] || { [ $# -gt 0 ] && [ "$k" -gt 1 ]; } || run_lua "$k" "$@"
  ) &
done
[ -z "$c" ] || report_c
wait
[ -z "$lua" ] || report_lua "$@"
left=$(LC_ALL=C comm -13 <(echo "$before") <(tree))
if [ -n "$left" ]; then
  failed=$((failed + 1))
  { echo "FAILED: tests left or changed files in the checkout:"; brief 20 <<<"$left"; } >>"$failures"
fi
if [ "$failed" -gt 0 ]; then
  [ -s "$failures" ] || echo "FAILED: what failed has no name; see the logs in $B/tests" >"$failures"
  echo
  head -n 60 "$failures"
  [ "$(wc -l <"$failures")" -le 60 ] || echo "... and more in $failures"
fi
if [ "$skipped" -gt 0 ]; then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
