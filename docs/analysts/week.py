# %% [markdown]
# # A week of a unit
#
# From the log of observations and verdicts to a picture: who was in the unit at each
# hour, how many nurses were on duty, and which factors asked for them. The cells are
# those of a notebook (VS Code, PyCharm, Jupytext); `python week.py FOLDER PICTURE`
# runs all of them.
#
# FOLDER is what `svc export` wrote, see README.md beside this file. It holds no names
# and no birth dates: a visit is a pseudonym.

# %%
import sys
from datetime import datetime
from zoneinfo import ZoneInfo

import duckdb
import matplotlib

matplotlib.use("Agg")  # a file, no window
import matplotlib.dates
import matplotlib.pyplot as plt

folder, picture = sys.argv[1:3]
zone = ZoneInfo(sys.argv[3] if len(sys.argv) > 3 else "America/Chicago")

# %% [markdown]
# ## The tables
#
# One row per accepted request, and one per change of the verdict. The folders are
# named date=…, which DuckDB uses to leave out what a question does not need.

# %%
db = duckdb.connect()
db.execute("SET TimeZone = 'UTC'")
for table in ("observations", "verdicts"):
    db.execute(
        f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{folder}/{table}/**/*.parquet', hive_partitioning = false)"
    )

# %% [markdown]
# ## Who was here
#
# ADT events come late, twice, and in any order; what counts is their own time (`at`,
# in quotes because it is also a word of SQL), not that of their receipt. A newborn (class N) is not a patient in a bed of its own.
# This reads admissions and discharges as they were sent. Events that were taken back
# (A11, A12, A13) it leaves alone: where those matter, the verdicts are the truth.

# %%
db.execute("""
    CREATE TABLE event AS
    SELECT DISTINCT e.type, e."at" AS happened, e.visit
    FROM (SELECT unnest(events) AS e FROM observations)
    WHERE e.class IS DISTINCT FROM 'N'
""")
db.execute("""
    CREATE TABLE stay AS
    SELECT visit,
           min(happened) FILTER (type IN ('A01', 'A04')) AS came,
           max(happened) FILTER (type = 'A03') AS went
    FROM event GROUP BY visit HAVING came IS NOT NULL
""")
visits, discharged, hours = db.execute("""
    SELECT count(*), count(went), median(date_diff('minute', came, went)) / 60 FROM stay
""").fetchone()
print(f"visits {visits}, discharged {discharged}, median stay {hours:.1f} h")

# %% [markdown]
# ## Hour by hour
#
# A visit is here from when it came until it went; the first staffing is where the
# feeds begin, who came before is told then. The nurses are those of the newest
# count at that hour: an ASOF join finds it.

# %%
hourly = db.execute("""
    WITH hours AS (
        SELECT unnest(generate_series(
            (SELECT date_trunc('hour', min(staffing_at)) FROM observations) + INTERVAL 1 HOUR,
            (SELECT max(greatest(came, went)) FROM stay), INTERVAL 1 HOUR)) AS hour),
    census AS (
        SELECT hour, count(stay.visit) AS patients
        FROM hours LEFT JOIN stay ON came <= hour AND (went IS NULL OR went > hour)
        GROUP BY hour),
    staffing AS (
        SELECT staffing_at AS since, last(nurses ORDER BY received_at) AS nurses
        FROM observations WHERE nurses IS NOT NULL GROUP BY staffing_at)
    SELECT epoch(hour), patients, nurses
    FROM census ASOF LEFT JOIN staffing ON hour >= since
    ORDER BY hour
""").fetchall()
local = [datetime.fromtimestamp(seconds, zone) for seconds, _, _ in hourly]
busiest = max(hourly, key=lambda row: row[1])
print(f"hours {len(hourly)}, patients at most {busiest[1]}, mean {sum(row[1] for row in hourly) / len(hourly):.1f}")

# %% [markdown]
# ## What asked for nurses
#
# Each change of the verdict lists the factors that became active in it.

# %%
factors = db.execute("""
    SELECT a.factor, count(*) AS times
    FROM (SELECT unnest(activated) AS a FROM verdicts)
    GROUP BY a.factor ORDER BY times DESC, a.factor LIMIT 12
""").fetchall()
for factor, times in factors[:5]:
    print(f"{times:5d} times {factor}")

# %% [markdown]
# ## The picture

# %%
figure, (top, bottom) = plt.subplots(2, 1, figsize=(11, 8), layout="constrained", height_ratios=(3, 2))
top.step(local, [row[1] for row in hourly], where="post", color="#1f6f8b", label="patients in the unit")
top.step(local, [row[2] for row in hourly], where="post", color="#c0504d", label="nurses on duty")
top.xaxis.set_major_locator(matplotlib.dates.DayLocator(tz=zone))
top.xaxis.set_major_formatter(matplotlib.dates.DateFormatter("%a %d %b", tz=zone))
top.set_ylim(bottom=0)
top.grid(axis="y", alpha=0.3)
top.legend(loc="lower right")
top.set_title(f"A week of the unit, local time ({zone.key})", loc="left")
bottom.barh([factor for factor, _ in factors][::-1], [times for _, times in factors][::-1], color="#7a9e7e")
bottom.set_title("How often a factor became active", loc="left")
figure.savefig(picture, dpi=110)
print(f"picture {picture}")
