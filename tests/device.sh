#!/usr/bin/env bash
# device.sh - checks a device on a machine that has it, in at most ten minutes: tests/device.sh cuda:0 [FOLDER]
#
# Runs in the dist folder and in a checkout. Parts run in order of what they tell. Each has a bound in seconds, writes
# its file in FOLDER (device-results) as soon as it ends, and a line to summary.txt, which is shown whole at the end:
# ok, FAILED or skipped with the reason. Needs the driver; uses NVRTC, compute-sanitizer and Python's torch and cupy
# where they are. TOTAL: seconds of all parts (600); what would begin later is skipped. SHARES: processes that divide
# the rows of the op table (one for each processor, at most 8), since most of their time is the compiler's. A part that
# is slow, as all are on the stand-in for CUDA, leaves out what it has no time for: counted in its line, named in its file.
# Status: 0 where all is ok, 1 where something failed, 3 where nothing failed and something was left out for lack of time.
set -uo pipefail
device=${1:?usage: tests/device.sh DEVICE [FOLDER], such as tests/device.sh cuda:0}
at=$(cd "$(dirname "$0")/.." && pwd)
mascon=$at/mascon
[ -x "$mascon" ] || mascon=$at/build/mascon
[ -x "$mascon" ] || { echo "device.sh: mascon is neither in $at nor in $at/build" >&2; exit 2; }
out=${2:-device-results}
mkdir -p "$out" && out=$(cd "$out" && pwd)
export DEVICE_NAME=$device
export MASCON_CACHE=${MASCON_CACHE:-$out/cache}
total=${TOTAL:-600}
shares=${SHARES:-$(nproc)}
[ "$shares" -le 8 ] || shares=8
: >"$out/summary.txt"
began=$SECONDS
bad=0
partial=0 # something was left out for lack of time

say() { printf '%-14s %-8s %5s  %s\n' "$@" | tee -a "$out/summary.txt"; }
skip() { say "$1" skipped - "$2"; }

# verdict NAME STATUS BOUND SECONDS: the line of a part that ended
verdict() {
  local last
  last=$(tail -n 1 "$out/$1.txt" | cut -c1-160)
  case $2 in 124 | 137) last="did not end within $3 s; $last" ;; esac
  case $last in *', 0 left out') ;; *' left out') partial=1 ;; esac
  if [ "$2" -eq 0 ]; then say "$1" ok "$4 s" "$last"
  else bad=1; say "$1" FAILED "$4 s" "status $2; $last"; fi
}

# in_time NAME BOUND: sets `bound`, the seconds that a part may take; fails where none are left
in_time() {
  bound=$((total - SECONDS + began))
  [ "$bound" -lt "$2" ] || bound=$2
  [ "$bound" -gt 5 ] || { partial=1; skip "$1" "the $total s are over (TOTAL sets them)"; return 1; }
}

# part NAME BOUND COMMAND...: its output in NAME.txt
part() {
  local name=$1 from=$SECONDS bound rc
  in_time "$name" "$2" || return 0
  shift 2
  DEVICE_SECONDS=$bound timeout --foreground -k 15 "$bound" "$@" >"$out/$name.txt" 2>&1 </dev/null
  rc=$?
  verdict "$name" $rc "$bound" $((SECONDS - from))
}

# shared NAME BOUND PART: a part of device.lua in $shares processes, whose counts are added up
shared() {
  local name=$1 from=$SECONDS bound rc=0 k pids=()
  in_time "$name" "$2" || return 0
  for k in $(seq "$shares"); do
    DEVICE_SECONDS=$bound timeout -k 15 "$bound" "$mascon" "$at/tests/device.lua" "$device" "$3" "$k/$shares" \
      >"$out/$name.$k.txt" 2>&1 </dev/null &
    pids+=($!)
  done
  for k in "${pids[@]}"; do wait "$k" || rc=$?; done
  for k in $(seq "$shares"); do cat "$out/$name.$k.txt"; rm -f "$out/$name.$k.txt"; done >"$out/$name.txt"
  awk '/^[0-9]+ passed, [0-9]+ failed, / { p += $1; f += $3; l += $5 }
    END { printf "%d passed, %d failed, %d left out\n", p, f, l }' "$out/$name.txt" >>"$out/$name.txt"
  verdict "$name" $rc "$bound" $((SECONDS - from))
}
lua() { part "$1" "$2" "$mascon" "$at/tests/device.lua" "$device" "$3"; }
of_cuda() { [ "${device#cuda}" != "$device" ]; }

# a device that is not there is told once, not by every part
why=$("$mascon" -e 'local ok, why = pcall(require "mascon".zeros, { 1 }, { device = os.getenv "DEVICE_NAME" })
  print(ok and "" or tostring(why):match "zeros: (.*)" or tostring(why))' 2>&1) || true
if [ -n "$why" ]; then
  say device FAILED - "$(printf '%s' "$why" | head -n 1)"
  exit 1
fi
part info 20 "$mascon" info
limit=60 # seconds in which the cases of a benchmark begin
standin=$(grep -q "$device: stand-in" "$out/info.txt" && echo yes || true)
[ -z "$standin" ] || { limit=5; export DEVICE_STANDIN=1; }
if command -v nvidia-smi >/dev/null; then part card 20 nvidia-smi; else skip card 'there is no nvidia-smi'; fi
lua spine 40 spine
why=$(grep -m 1 'is not there\|is unknown\|cannot be used' "$out/spine.txt" | cut -c1-300)
if [ $bad -ne 0 ] && [ -n "$why" ]; then
  say all FAILED "$((SECONDS - began)) s" "${why#*: device: }"
  exit 1
fi
shared rows 150 families
shared bits 60 bits
lua costs 30 costs
if of_cuda; then MASCON_GRAPHS=off lua costs-single 30 costs; else skip costs-single 'graphs of launches are of cuda alone'; fi
part bench 60 "$mascon" bench ops --device "$device" --seconds 0.3 --limit "$limit"
lua products 40 products
python=$(command -v python3 || true)
for peer in torch cupy; do
  if [ -n "$python" ] && of_cuda && "$python" -c "import $peer" 2>/dev/null; then
    part "peer-$peer" 40 "$python" "$at/tests/device_peer.py" "$peer"
  else skip "peer-$peer" "python3 has no $peer, or the device is not of CUDA"; fi
done
lua workflows 60 workflows
lua oom 20 oom
pack=${MASCON_PROGRAMS:-$(dirname "$mascon")/programs}/cuda.pack
if [ -n "$standin" ]; then skip shipped 'the stand-in runs no code of a card'
elif ! of_cuda; then skip shipped 'programs come with mascon for cuda alone'
elif [ ! -s "$pack" ]; then skip shipped "there is no $pack (make dist makes it where NVRTC is)"
else
  MASCON_NVRTC=off MASCON_CACHE=off lua shipped 30 spine
  MASCON_NVRTC=off MASCON_CACHE=off shared shipped-rows 100 families
fi
if command -v compute-sanitizer >/dev/null && of_cuda; then
  for tool in memcheck racecheck initcheck synccheck; do
    part "$tool" 40 compute-sanitizer --tool "$tool" --error-exitcode 9 "$mascon" "$at/tests/device.lua" "$device" spine
  done
  part memcheck-rows 120 compute-sanitizer --tool memcheck --error-exitcode 9 "$mascon" "$at/tests/device.lua" "$device" \
    families "1/$shares"
else skip sanitizer 'there is no compute-sanitizer, or the device is not of CUDA'; fi
part bench-work 120 "$mascon" bench pac autoreject --device "$device" --seconds 0.3 --limit "$limit"
all=ok
[ $partial -eq 0 ] || all=PARTIAL
[ $bad -eq 0 ] || all=FAILED
say all "$all" "$((SECONDS - began)) s" "results in $out"
printf '\n%-14s %-8s %5s  %s\n' part verdict time 'last line'
cat "$out/summary.txt"
[ $bad -eq 0 ] || exit 1
[ $partial -eq 0 ] || exit 3
