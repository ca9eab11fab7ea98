#!/bin/sh
# setup.sh [folder] - makes the Python environment of the competition (default build/peers) with the pinned versions.
# Owns nothing outside that folder. About 6 GB, because PyTorch's plain wheel brings its CUDA libraries along; with
# PEERS_TORCH=0 PyTorch and gPAC are left out (0.5 GB) and the benches say "skipped" for them.
# NLSQ needs Python 3.12: where there is one (PYTHON312, python3.12 or 3.13, pyenv, uv), folder-xpcs is made for it (about
# 2 GB). homodyne stands in no registry: its row appears where it was installed there from its repository.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-build/peers}
python=${PYTHON:-python3}
list=$here/requirements.txt
stamp=$(cat "$list" "$here/requirements-nodeps.txt" | cksum | cut -d ' ' -f 1)-${PEERS_TORCH:-1}
xpcs=$folder-xpcs
newer=${PYTHON312:-$(command -v python3.12 || command -v python3.13 || true)}
if [ -z "$newer" ] && command -v pyenv > /dev/null; then
    newer=$(ls "$(pyenv root)"/versions/3.1[2-9]*/bin/python 2> /dev/null | head -n 1 || true)
fi
if [ -z "$newer" ] && command -v uv > /dev/null; then
    newer=$(uv python find '>=3.12' 2> /dev/null || true)
fi
if [ -n "$newer" ] && "$newer" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
    mark=$(cksum < "$here/requirements-xpcs.txt")
    if [ "$(cat "$xpcs/.stamp" 2>/dev/null || true)" != "$mark" ]; then
        "$newer" -m venv "$xpcs"
        "$xpcs/bin/pip" install --quiet -r "$here/requirements-xpcs.txt"
        echo "$mark" > "$xpcs/.stamp"
    fi
fi
if [ "$(cat "$folder/.stamp" 2>/dev/null || true)" = "$stamp" ]; then
    echo "$folder is up to date"
    exit 0
fi
"$python" -m venv "$folder"
if [ "${PEERS_TORCH:-1}" = 0 ]; then
    grep -v '^torch==' "$list" > "$folder/requirements.txt"
    "$folder/bin/pip" install --quiet -r "$folder/requirements.txt"
else
    "$folder/bin/pip" install --quiet -r "$list"
    "$folder/bin/pip" install --quiet --no-deps -r "$here/requirements-nodeps.txt"
fi
echo "$stamp" > "$folder/.stamp"
"$folder/bin/python" -c 'import sys, numpy, scipy; print("peers ready: python %s, numpy %s, scipy %s" % (sys.version.split()[0], numpy.__version__, scipy.__version__))'
