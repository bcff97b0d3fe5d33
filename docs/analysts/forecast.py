# %% [markdown]
# # A forecast of your own
#
# Reads the hours of a unit straight from Kafka (`svc.v1.snapshots`), fits a simple model
# on the first half of them, and writes what it says of the second half into a file that
# `svc backtest --compare` measures beside the forecast of svc. The cells are those of a
# notebook; `python forecast.py KAFKA REGISTRY HOSPITAL FILE [ZONE]` runs all of them.

# %%
import csv
import sys
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from sklearn.linear_model import Ridge

kafka, registry, hospital, file = sys.argv[1:5]
zone = ZoneInfo(sys.argv[5] if len(sys.argv) > 5 else "America/Chicago")
topic = "svc.v1.snapshots"

# %% [markdown]
# ## The hours
#
# One record is a unit at one full hour. Every partition is read to its end; no group
# joins, so nothing is left behind on the servers. What an open transaction wrote is
# skipped. A later generation of an hour replaces an earlier one: it was made from
# events that came late.

# %%
deserialize = AvroDeserializer(SchemaRegistryClient({"url": registry}))
consumer = Consumer({
    "bootstrap.servers": kafka, "group.id": "unused", "enable.auto.commit": False,
    "isolation.level": "read_committed", "enable.partition.eof": True, "enable.metrics.push": False,
})
partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
consumer.assign([TopicPartition(topic, n, 0) for n in partitions])
unit, open_partitions = {}, set(partitions)
while open_partitions:
    message = consumer.poll(30)
    if message is None:
        sys.exit("Kafka does not answer")
    if message.error():
        if message.error().name() != "_PARTITION_EOF":
            sys.exit(message.error().str())
        open_partitions.discard(message.partition())
    elif message.value() is not None:  # barriers have no value
        record = deserialize(message.value(), SerializationContext(topic, MessageField.VALUE))
        hour = record["snapshot"]
        before = unit.get(hour["hour"])
        if record["hospital"] == hospital and (before is None or before["generation"] <= hour["generation"]):
            unit[hour["hour"]] = hour
consumer.close()
hours = [unit[h] for h in sorted(unit) if unit[h]["observed"]]
if len(hours) < 7 * 24:
    sys.exit(f"{len(hours)} hours were observed: a week is the least")
print(f"hours {len(hours)}, from {datetime.fromtimestamp(hours[0]['hour'] * 3600, UTC):%Y-%m-%d %H:%M} UTC")

# %% [markdown]
# ## What is known at an hour
#
# `demand` of a visit has nine bytes: 60ths of a nurse, now and one to eight hours ahead if
# nothing happens but that time goes on. Their sums over the visits are the nurses required
# now and the part of the future that is known.

# %%
HORIZON = 8
index = {hour["hour"]: i for i, hour in enumerate(hours)}
known = np.array([np.sum([list(v["demand"]) for v in hour["visits"]] or [[0] * (HORIZON + 1)], axis=0) / 60 for hour in hours])
required = known[:, 0]
occupied = np.array([float(hour["occupied"]) for hour in hours])
arrivals = np.array([float(len(hour["arrivals"])) for hour in hours])


def features(i, ahead):
    """What the model knows at the i-th hour of the unit so many hours ahead."""
    then = datetime.fromtimestamp((hours[i]["hour"] + ahead) * 3600, zone)
    by_hour, by_day = [0.0] * 24, [0.0] * 7
    by_hour[then.hour] = by_day[then.weekday()] = 1
    day = slice(max(0, i - 23), i + 1)
    return [required[i], known[i, ahead], occupied[i], arrivals[i], required[day].mean(), occupied[day].mean(), *by_hour, *by_day]


# %% [markdown]
# ## The model
#
# For each hour ahead two ridge regressions: nurses required and rooms occupied. They learn
# the first half, then stay as they are. Nothing later than its own hour is used for a
# forecast; `svc backtest` cannot check that, so it is up to the notebook.

# %%
half = len(hours) // 2
rows, off = [], []
for ahead in range(1, HORIZON + 1):
    learnt = [(i, index[hours[i]["hour"] + ahead]) for i in range(half) if index.get(hours[i]["hour"] + ahead, half) < half]
    x = [features(i, ahead) for i, _ in learnt]
    models = [Ridge(alpha=10).fit(x, [of[j] for _, j in learnt]) for of in (required, occupied)]
    said = [np.maximum(0, m.predict([features(i, ahead) for i in range(half, len(hours))])) for m in models]
    for i in range(half, len(hours)):
        at = datetime.fromtimestamp(hours[i]["hour"] * 3600, UTC)
        row = [round(float(s[i - half]), 3) for s in said]
        rows.append([at.strftime("%Y-%m-%dT%H:%M:%SZ"), ahead, *row])
        came = index.get(hours[i]["hour"] + ahead)
        if came is not None:
            off.append([abs(row[0] - required[came]), abs(row[1] - occupied[came])])
nurses, rooms = np.mean(off, axis=0)
print(f"compared {len(off)}, mean error {nurses:.4f} nurses, {rooms:.4f} rooms")

# %% [markdown]
# ## The file for `svc backtest --compare`

# %%
with open(file, "w", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(["at", "hours_ahead", "nurses", "rooms"])
    writer.writerows(rows)
print(f"forecasts {len(rows)}, learnt from {half} hours")
