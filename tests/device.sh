#!/usr/bin/env bash
# device.sh - checks a device on a machine that has it, in about ten minutes: tests/device.sh cuda:0 [FOLDER]
#
# Runs in the dist folder and in a checkout. Each part writes its file in FOLDER (device-results) as soon as it ends, and
# a line to summary.txt: passed, failed or skipped with the reason. Needs the driver; uses NVRTC, compute-sanitizer and
# Python's torch and cupy where they are. LIMIT: seconds of a part at most (200).
set -uo pipefail
device=${1:?usage: tests/device.sh DEVICE [FOLDER], such as tests/device.sh cuda:0}
at=$(cd "$(dirname "$0")/.." && pwd)
mascon=$at/mascon
[ -x "$mascon" ] || mascon=$at/build/mascon
[ -x "$mascon" ] || { echo "device.sh: mascon is neither in $at nor in $at/build" >&2; exit 2; }
out=${2:-device-results}
mkdir -p "$out" && out=$(cd "$out" && pwd)
export MASCON_CACHE=${MASCON_CACHE:-$out/cache}
limit=${LIMIT:-200}
: >"$out/summary.txt"
began=$(date +%s)
bad=0

say() { printf '%-12s %s\n' "$1" "$2" | tee -a "$out/summary.txt"; }

# part NAME COMMAND...: its output in NAME.txt, its last line in the summary
part() {
  local name=$1 rc from
  shift
  from=$(date +%s)
  timeout --foreground -k 15 "$limit" "$@" >"$out/$name.txt" 2>&1 </dev/null
  rc=$?
  local last
  last=$(tail -n 1 "$out/$name.txt" | cut -c1-160)
  case $rc in 124 | 137) last="did not end within $limit s; $last" ;; esac
  if [ $rc -eq 0 ]; then say "$name" "ok ($(($(date +%s) - from)) s): $last"
  else bad=1; say "$name" "FAILED with status $rc ($(($(date +%s) - from)) s): $last"; fi
}
lua() { part "$1" "$mascon" "$at/tests/device.lua" "$device" "$2"; }

part info "$mascon" info
if command -v nvidia-smi >/dev/null; then part card nvidia-smi; else say card 'skipped: there is no nvidia-smi'; fi
lua spine spine
lua rows families
lua bits bits
pack=${MASCON_PROGRAMS:-$(dirname "$mascon")/programs}/cuda.pack
if [ "${device#cuda}" = "$device" ]; then say shipped 'skipped: programs come with mascon for cuda alone'
elif [ ! -s "$pack" ]; then say shipped "skipped: there is no $pack (make dist makes it where NVRTC is)"
else
  MASCON_NVRTC=off MASCON_CACHE=off lua shipped spine
  MASCON_NVRTC=off MASCON_CACHE=off lua shipped-rows families
fi
if command -v compute-sanitizer >/dev/null && [ "${device#cuda}" != "$device" ]; then
  for tool in memcheck racecheck initcheck synccheck; do
    part "$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$mascon" "$at/tests/device.lua" "$device" spine
  done
  part memcheck-rows compute-sanitizer --tool memcheck --error-exitcode 9 "$mascon" "$at/tests/device.lua" "$device" families
else say sanitizer 'skipped: there is no compute-sanitizer, or the device is not of CUDA'; fi
lua costs costs
part bench "$mascon" bench ops pac autoreject --device "$device" --seconds 0.5
python=$(command -v python3 || true)
for peer in torch cupy; do
  if [ -n "$python" ] && [ "${device#cuda}" != "$device" ] && "$python" -c "import $peer" 2>/dev/null; then
    part "peer-$peer" "$python" "$at/tests/device_peer.py" "$peer"
  else say "peer-$peer" "skipped: python3 has no $peer, or the device is not of CUDA"; fi
done
lua workflows workflows
lua oom oom
say all "$(($(date +%s) - began)) s, results in $out"
exit $bad
