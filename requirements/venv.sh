#!/bin/sh
# Make a virtual environment and install a lock file into it: with uv where it is and works, else with venv and pip.
#   venv.sh create VENV
#   venv.sh install VENV LOCKFILE
set -eu
action=$1 venv=$2

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
have_uv() { command -v uv >/dev/null; }

create() {
    for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3}; do
        new_enough "$python" || continue
        "$python" -m venv --clear "$venv" 2>/dev/null && return
        have_uv && uv venv --quiet --clear --python "$(command -v "$python")" "$venv" && return
    done
    rm -rf "$venv"
    echo "No Python 3.11 or newer with its venv module was found." >&2
    echo "Debian, Ubuntu: sudo apt-get install python3-venv. Elsewhere: make PYTHON=/path/to/python3 setup" >&2
    return 1
}

with_uv() {
    # The machine's own certificates, as pip uses them: a site's proxy is in there.
    # Compiled here, as pip does: a process that finds no bytecode compiles its libraries anew at each start, for half a second.
    UV_SYSTEM_CERTS=true VIRTUAL_ENV=$venv uv pip install --quiet --compile-bytecode "$@"
}

with_pip() {
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

install_with() {
    "$1" --require-hashes -r "$2" && "$1" --no-deps --no-build-isolation -e .
}

case $action in
create) create ;;
install)
    echo "installing $3 into $venv"
    if have_uv && install_with with_uv "$3"; then exit 0; fi
    install_with with_pip "$3"
    ;;
*) echo "usage: venv.sh create VENV | install VENV LOCKFILE" >&2 && exit 2 ;;
esac
