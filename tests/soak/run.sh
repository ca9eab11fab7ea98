#!/usr/bin/env bash
# run.sh - runs the long jobs of tests/soak: `make soak`, or a share of each in `make test`.
#
# usage: tests/soak/run.sh BUILD [SHARE] [SECONDS] [JOB...]   (SHARE in percent, default 100; SECONDS for each job, default 3600; SEED=n, default 1)
# A job is tests/soak/NAME.lua with `-- soak: COUNT` in its head (2000 without). A whole job keeps its state in BUILD/soak/NAME.SEED.state and goes on
# there when it is run again; remove the file to begin anew. Prints a line for each job; exit status 0 when all passed.
set -uo pipefail
cd "$(dirname "$0")/../.."
B=${1:-build} share=${2:-100} seconds=${3:-3600}
shift $(($# < 3 ? $# : 3))
jobs=("$@")
if [ ${#jobs[@]} = 0 ]; then for f in tests/soak/*.lua; do jobs+=("$(basename "$f" .lua)"); done; fi
mkdir -p "$B/soak"
export MASCON_CACHE=${MASCON_CACHE:-$(realpath -m "$B")/cache}
bad=0
for job in "${jobs[@]}"; do
  count=$(sed -n 's/^-- soak: \([0-9]*\).*/\1/p' "tests/soak/$job.lua" | head -n 1)
  count=$(((${count:-2000} * share + 99) / 100))
  words=(--count "$count" --seed "${SEED:-1}" --seconds "$seconds")
  [ "$share" = 100 ] && words+=(--state "$B/soak/$job.${SEED:-1}.state")
  if "$B/mascon" "tests/soak/$job.lua" "${words[@]}" >"$B/soak/$job.log" 2>&1; then
    echo "  soak $job: $(tail -n 1 "$B/soak/$job.log")"
  else
    bad=1
    echo "  soak $job: FAILED; the end of $B/soak/$job.log:"
    tail -n 20 "$B/soak/$job.log" | sed 's/^/    /'
  fi
done
exit $bad
