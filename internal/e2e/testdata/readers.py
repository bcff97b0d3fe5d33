"""Reads an export as analysts do, with DuckDB, pyarrow, pandas and Polars, each given
the folder of a table and nothing else. Prints what each makes of it: rows, for the
first two types, and the rows of each partition. Called by TestExportReadByOthers."""

import base64
import datetime
import json
import sys

import duckdb
import pandas
import polars
import pyarrow.dataset

files = sys.argv[1] + "/**/*.parquet"


def plain(value):
    """A value as NDJSON has it: what is null or an empty list is left out."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v is not None and v != []}
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        value = value.tolist()
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

# date=… is a column if the reader requests it.
folders = db.sql(f"""
    SELECT hospital, CAST(date AS VARCHAR), count(*) FROM read_parquet('{files}', hive_partitioning = true) GROUP BY ALL ORDER BY ALL
""").fetchall()

arrow = pyarrow.dataset.dataset(sys.argv[1], format="parquet")
arrow_kinds = {}
for field in arrow.schema:
    arrow_kinds |= arrow_types(field.name, field)

# Both add the partition; the other columns must be those of the files. The types are those of
# Arrow, because NumPy turns integers with a null into floats.
frame = pandas.read_parquet(sys.argv[1], dtype_backend="pyarrow")
dates = sorted(str(d) for d in frame.pop("date").unique())
frame_rows = [plain({k: None if v is pandas.NA else v for k, v in row.items()}) for row in frame.to_dict("records")]
polar = polars.scan_parquet(sys.argv[1], hidden_file_prefix="_").collect()
polar_dates = sorted(str(d) for d in polar["date"].unique())
polar_rows = [plain(row) for row in polar.drop("date").to_dicts()]

json.dump({
    "duckdb": {"types": types, "rows": rows},
    "arrow": {"types": arrow_kinds, "rows": [plain(row) for row in arrow.to_table().to_pylist()]},
    "pandas": {"rows": frame_rows, "dates": dates},
    "polars": {"rows": polar_rows, "dates": polar_dates},
    "folders": folders,
}, sys.stdout)
