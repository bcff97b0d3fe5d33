"""Reads an export as analysts do, with DuckDB and with pyarrow, and prints what
each makes of a table: types, rows, and what the folders of the partitions are
good for. Called by TestExportReadByOthers."""

import base64
import datetime
import glob
import json
import sys

import duckdb
import pyarrow.dataset

files = sys.argv[1] + "/**/*.parquet"


def plain(value):
    """A value as NDJSON has it: what is null or an empty list is left out."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v is not None and v != []}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        assert value.utcoffset() == datetime.timedelta(0), value
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
    return value


def duck_types(name, kind):
    """The types of a column, and of those of its parts, by name."""
    if kind.id == "list":
        element = kind.children[0][1]
        if element.id != "struct":
            return {name: str(element) + "[]"}
        types = {name: "STRUCT[]"}
        for part, inner in element.children:
            types |= duck_types(name + "." + part, inner)
        return types
    return {name: str(kind)}


def arrow_types(name, field):
    kind = field.type
    if pyarrow.types.is_list(kind):
        if not pyarrow.types.is_struct(kind.value_type):
            return {name: f"{kind.value_type}[]"}
        types = {name: "struct[]"}
        for part in kind.value_type:
            types |= arrow_types(name + "." + part.name, part)
        return types
    return {name: str(kind) + (" null" if field.nullable else "")}


db = duckdb.connect()
db.execute("SET TimeZone = 'UTC'")
table = db.sql(f"SELECT * FROM read_parquet('{files}', hive_partitioning = false)")
types = {}
for name, kind in zip(table.columns, table.types):
    types |= duck_types(name, kind)
rows = [plain(dict(zip(table.columns, row))) for row in table.fetchall()]

# hospital=…/date=… are columns where a reader wants them.
folders = db.sql(f"""
    SELECT hospital, CAST(date AS VARCHAR), count(*) FROM read_parquet('{files}', hive_partitioning = true) GROUP BY ALL ORDER BY ALL
""").fetchall()

arrow = pyarrow.dataset.dataset(glob.glob(files, recursive=True), format="parquet")
arrow_kinds = {}
for field in arrow.schema:
    arrow_kinds |= arrow_types(field.name, field)

json.dump({
    "duckdb": {"types": types, "rows": rows},
    "arrow": {"types": arrow_kinds, "rows": [plain(row) for row in arrow.to_table().to_pylist()]},
    "folders": folders,
}, sys.stdout)
