# %% [markdown]
# # Snapshots as a table in Spark
#
# Reads `svc.v1.snapshots` from Kafka into a table of Spark and asks it for the nurses
# required by hour of the day. `python spark.py KAFKA REGISTRY FOLDER [ZONE]` runs all
# cells and leaves the table in FOLDER as Parquet. It needs Java 17.

# %%
import glob
import json
import os
import sys
import urllib.request

from pyspark.sql import SparkSession, Window, functions as F
from pyspark.sql.avro.functions import from_avro

kafka, registry, folder = sys.argv[1:4]
zone = sys.argv[4] if len(sys.argv) > 4 else "America/Chicago"
topic, version = "svc.v1.snapshots", "4.0.0"
needed = ["spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13", "spark-avro_2.13", "kafka-clients", "commons-pool2"]
builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
builder = builder.config("spark.sql.session.timeZone", zone).config("spark.sql.shuffle.partitions", "4")
if jars := os.environ.get("JARS"):  # a folder with them, on a machine that may not fetch any
    found = [path for name in needed for path in glob.glob(f"{jars}/{name}-*.jar")]
    builder = builder.config("spark.jars", ",".join(found))
else:
    builder = builder.config("spark.jars.packages", ",".join(f"org.apache.spark:{name}:{version}" for name in (needed[0], needed[2])))
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")

# %% [markdown]
# ## From bytes to rows
#
# Spark itself asks no schema registry, so the schema is fetched here. The first five bytes
# of a value are the zero byte and the id of its schema; what comes after is Avro. Barriers
# have no value. As a stream: `readStream` instead of `read`, the rest is the same.

# %%
with urllib.request.urlopen(f"{registry}/subjects/{topic}-svc.Snapshot/versions/latest") as answer:
    latest = json.load(answer)
records = (
    spark.read.format("kafka").option("kafka.bootstrap.servers", kafka).option("subscribe", topic)
    .option("startingOffsets", "earliest").option("kafka.isolation.level", "read_committed").load()
    .where("value IS NOT NULL")
)
known = F.expr(f"hex(substring(value, 1, 5)) = '00{latest['id']:08X}'")
others = records.where(~known).count()
if others:
    sys.exit(f"{others} records have an older schema: read them with that of their id")
snapshots = records.select(
    from_avro(F.expr("substring(value, 6)"), latest["schema"]).alias("s"), "partition", "offset"
).select("s.hospital", "s.snapshot.*", "partition", "offset")

# %% [markdown]
# ## The table
#
# A later generation of an hour replaces an earlier one. `demand` of a visit is nine bytes:
# 60ths of a nurse, now and one to eight hours ahead.

# %%
newest = F.row_number().over(
    Window.partitionBy("hospital", "hour").orderBy(F.desc("generation"), F.desc("offset"))
)
table = (
    snapshots.withColumn("newest", newest).where("newest = 1 AND observed")
    .select(
        "hospital", F.timestamp_seconds(F.col("hour") * 3600).alias("at"), "occupied", "rooms", "nurses", "level",
        F.size("arrivals").alias("arrivals"),
        F.expr("aggregate(visits, 0, (sum, v) -> sum + cast(conv(hex(substring(v.demand, 1, 1)), 16, 10) AS int)) / 60").alias("required"),
    )
)
table.write.mode("overwrite").partitionBy("hospital").parquet(folder)
table = spark.read.parquet(folder)
table.createOrReplaceTempView("snapshots")
print(f"hours {table.count()}, required {table.agg(F.avg('required')).first()[0]:.4f} on average")

# %%
spark.sql("""
    SELECT hospital, hour(at) AS hour, round(avg(required), 1) AS required, round(avg(occupied), 1) AS occupied
    FROM snapshots GROUP BY ALL ORDER BY ALL
""").show(24)
