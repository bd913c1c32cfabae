#!/bin/sh
# Lock the dependencies by hash: dev.txt first, the smaller sets in the same versions.
# The files name no index: whoever installs decides where packages come from, the hashes decide which.
# Kept versions stay as they are; UPGRADE=1 takes the newest allowed by pyproject.toml.
set -eu
cd "$(dirname "$0")/.."
uv=$(command -v uv || echo .venv/bin/uv)
[ -x "$uv" ] || { echo "uv is needed to lock: pip install uv" >&2; exit 1; }

compile() {
    out=$1 && shift
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
        --no-emit-index-url --no-emit-find-links "$@" pyproject.toml --output-file "requirements/$out"
}
compile dev.txt ${UPGRADE:+--upgrade} --extra fast --extra demo --extra dev --group build
compile demo.txt --extra fast --extra demo --group build --constraint requirements/dev.txt
compile runtime.txt --extra fast --constraint requirements/dev.txt
compile fuzz.txt --extra fuzz --constraint requirements/dev.txt
