#!/bin/sh
# run.sh - the public test suite of the Python array API against mascon, through the bridge of this folder.
#
# usage: tests/array_api/run.sh BUILD SUITE EXAMPLES [words that pytest selects]. SUITE: a checkout of data-apis/array-api-tests with its
# submodule, which is not part of this tree. PYTHON names an interpreter with its requirements.txt. What fails is compared with
# expected.txt, where each line is a test and why; a failure that is not there, or a line that passes, ends with status 1
# (a line "sometimes: ..." may pass: it depends on the numbers that are drawn).
set -u
build=$1 suite=$2 examples=$3
shift 3
python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -f "$suite/array_api_tests/__init__.py" ] || [ ! -d "$suite/array-api/src" ]; then
  echo "array-api: SUITE='$suite' holds no test suite; clone https://github.com/data-apis/array-api-tests with --recursive" >&2
  exit 2
fi
"$python" -c 'import pytest, hypothesis, ndindex' || { echo "array-api: $python lacks pytest, hypothesis or ndindex; PYTHON names another" >&2; exit 2; }
out=$(mktemp) && trap 'rm -f "$out"' EXIT
export ARRAY_API_TESTS_MODULE=mascon_array_api ARRAY_API_TESTS_VERSION=2023.12 PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1
MASCON=$(cd "$build" && pwd)/mascon
export MASCON
select=
[ $# -gt 0 ] && select="-k $(echo "$*" | sed 's/ / or /g')"
(cd "$suite" && "$python" -m pytest -q -p no:cacheprovider --tb=short --disable-deadline --max-examples="$examples" array_api_tests ${select:+-k "${select#-k }"}) | tee "$out"
"$python" - "$out" "$here/expected.txt" "$#" <<'END'
import re
import sys

text = open(sys.argv[1]).read()
failed = set(re.findall(r"^(?:FAILED|ERROR) array_api_tests/(\S+\.py(?:::[^\[\s]+)?(?:\[.*?\](?= - |$))?)", text, re.M))
lines = [line.split("  # ") for line in open(sys.argv[2]) if line.strip() and not line.startswith("#")]
expected = {line[0] for line in lines}
always = {line[0] for line in lines if not line[1].startswith("sometimes: ")}
if not re.search(r"\d+ passed", text):
    sys.exit("array-api: the suite did not run")
new, gone = sorted(failed - expected), sorted(always - failed) if sys.argv[3] == "0" else []
for name in new:
    print("array-api: fails and is not in expected.txt:", name)
for name in gone:
    print("array-api: in expected.txt, and passes:", name)
print("array-api: %d failures, %d expected" % (len(failed), len(failed & expected)))
sys.exit(1 if new or gone else 0)
END
