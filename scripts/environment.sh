# shellcheck shell=bash
# Sourced by the other scripts: virtual environments that are made when missing and renewed when stale.

# The interpreter itself, also where an environment that was made from it is active: that one may be about to be removed.
if [[ -z "${PYTHON:-}" ]] && command -v python3 >/dev/null; then
    PYTHON="$(python3 -c 'import os, sys; print(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))')"
fi

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$1" >&2
    exit 1
}

# Say what the system lacks, before anything half works.
require_system() {
    local python="${PYTHON:-python3}"
    command -v "$python" >/dev/null \
        || fail "Python 3.11 or newer is needed: install python3, or set PYTHON to its path"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
        || fail "Python 3.11 or newer is needed, but $python is $("$python" -V 2>&1): set PYTHON to a newer one"
    "$python" -c 'import ensurepip, venv' 2>/dev/null \
        || fail "$python cannot make virtual environments: on Debian and Ubuntu, apt-get install python3-venv"
    "$python" -c 'import sqlite3' 2>/dev/null \
        || fail "$python was built without sqlite3: use a Python that has it (set PYTHON to its path)"
    command -v git >/dev/null || fail "git is needed: on Debian and Ubuntu, apt-get install git"
}

# What the checks need in addition: the program runs without its extension, but a check must not pass without it.
require_compiler() {
    command -v "${CC:-cc}" >/dev/null || fail "a C compiler is needed: on Debian and Ubuntu, apt-get install gcc libc6-dev"
    "${PYTHON:-python3}" -c 'import pathlib, sys, sysconfig
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' \
        || fail "the headers of ${PYTHON:-python3} are needed: on Debian and Ubuntu, apt-get install python3-dev"
}

# environment FOLDER STAMP INSTALL...: make a virtual environment in FOLDER and run the command INSTALL in it,
# unless that was done before for the same STAMP. The stamp is written last: an interrupted run starts again.
environment() {
    local folder="$1" stamp="$2"
    shift 2
    if [[ -f "$folder/stamp" && "$(<"$folder/stamp")" == "$stamp" ]] && "$folder/bin/python" -c '' 2>/dev/null; then
        return
    fi
    printf 'making the virtual environment %s (once)\n' "$folder"
    rm -rf "$folder"
    "${PYTHON:-python3}" -m venv "$folder"
    "$@"
    printf '%s\n' "$stamp" >"$folder/stamp"
}

# package_sources: the files that the package is made of, without what building it leaves beside them.
package_sources() {
    find src -type f -not -path '*/__pycache__/*' -not -path '*.egg-info/*' -not -name '*.so' | LC_ALL=C sort
}

# stamp_of FILE...: what an environment depends on: the files, the interpreter, and the place of the project.
stamp_of() {
    "${PYTHON:-python3}" - "$PWD" "$@" <<'PYTHON_CODE'
import hashlib, pathlib, sys
seen = hashlib.sha256(repr((sys.version, sys.executable, sys.argv[1])).encode())
for name in sys.argv[2:]:
    content = pathlib.Path(name).read_bytes()
    seen.update(f"{name} {len(content)}\n".encode() + content)
print(seen.hexdigest())
PYTHON_CODE
}
