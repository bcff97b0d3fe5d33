#!/bin/sh
# Runs the notebook: docs/analysts/run.sh FOLDER PICTURE [ZONE]
# Python packages go into a folder of their own (VENV, else a temporary one that is
# removed), unless the Python at hand has them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
if ! "$python" -c 'import duckdb, matplotlib' 2>/dev/null; then
	venv=${VENV:-}
	if [ -z "$venv" ]; then
		venv=$(mktemp -d)
		trap 'rm -rf "$venv"' EXIT
	fi
	[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
	"$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt" >&2
	python=$venv/bin/python
fi
"$python" "$here/week.py" "$@"
