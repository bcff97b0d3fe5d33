#!/bin/sh
# Runs a notebook: docs/analysts/run.sh NOTEBOOK ARGUMENT…
# Python packages go into a folder of their own (VENV, else a temporary one that is
# removed), unless the Python at hand has them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
notebook=$1
shift
case $notebook in
forecast.py) needs='confluent_kafka.schema_registry.avro, sklearn' requirements=requirements-forecast.txt ;;
*) needs='duckdb, matplotlib' requirements=requirements.txt ;;
esac
python=${PYTHON:-python3}
if ! "$python" -W ignore -c "import $needs" 2>/dev/null; then
	venv=${VENV:-}
	if [ -z "$venv" ]; then
		venv=$(mktemp -d)
		trap 'rm -rf "$venv"' EXIT
	fi
	[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
	"$venv/bin/python" -m pip install --quiet --requirement "$here/$requirements" >&2
	python=$venv/bin/python
fi
"$python" -W ignore "$here/$notebook" "$@"
