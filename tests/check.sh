#!/usr/bin/env bash
# Lint, format and types, by one command: bash tests/check.sh
# Uses $PYTHON, else the environment in .venv, else the python on the path. To mend what can be mended by itself:
#   python -m ruff check --fix . && python -m ruff format .
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "${PYTHON:-}" ]; then
    if [ -z "${VIRTUAL_ENV:-}" ] && [ -x .venv/bin/python ]; then PYTHON=.venv/bin/python; else PYTHON=python; fi
fi
"$PYTHON" -m ruff check .
"$PYTHON" -m ruff format --check .
"$PYTHON" -m mypy
