#!/bin/sh
# Make a virtual environment and install a lock file into it, with uv when it is there, else with venv and pip.
#   venv.sh create VENV
#   venv.sh install VENV LOCKFILE
set -eu
action=$1 venv=$2

fits() { "$1" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

case $action in
create)
    for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3}; do
        fits "$python" || continue
        if command -v uv >/dev/null; then
            uv venv --quiet --clear --python "$(command -v "$python")" "$venv" && exit 0
        fi
        "$python" -m venv --clear "$venv" && exit 0
        rm -rf "$venv"
    done
    echo "No Python 3.11 or newer with its venv module was found." >&2
    echo "On Debian or Ubuntu: sudo apt-get install python3-venv. Elsewhere: make PYTHON=/path/to/python3 setup" >&2
    exit 1
    ;;
install)
    lock=$3
    echo "installing $lock into $venv"
    if command -v uv >/dev/null; then
        VIRTUAL_ENV=$venv uv pip install --quiet --require-hashes -r "$lock"
        VIRTUAL_ENV=$venv uv pip install --quiet --no-deps --no-build-isolation -e .
    else
        export PIP_DISABLE_PIP_VERSION_CHECK=1
        "$venv/bin/python" -m pip install --quiet --require-hashes -r "$lock"
        "$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation -e .
    fi
    ;;
esac
