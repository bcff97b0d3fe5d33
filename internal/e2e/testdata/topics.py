"""Reads topics as analysts do, with the consumer and the Avro deserializer of Confluent and
the address of a schema registry, and with fastavro alone. Prints, by topic, how many records of each kind it could
read, the keys of records without a value, and one value of each kind. Called by
TestTopicsReadByOthers."""

import io
import json
import sys
import urllib.request

import fastavro
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

brokers, registry, *topics = sys.argv[1:]
client = SchemaRegistryClient({"url": registry})
deserialize = AvroDeserializer(client)
consumer = Consumer({
    "bootstrap.servers": brokers, "group.id": "analyst", "enable.auto.commit": False,
    "isolation.level": "read_committed", "enable.partition.eof": True,
})


def kind(value):
    """The record that a value was written with, by the id before it."""
    schema = client.get_schema(int.from_bytes(value[1:5], "big"))
    return json.loads(schema.schema_str)["name"]


parsed = {}


def read_alone(value):
    """What fastavro reads with nothing but the schema that the registry has at the id."""
    assert value[0] == 0
    number = int.from_bytes(value[1:5], "big")
    if number not in parsed:
        with urllib.request.urlopen(f"{registry}/schemas/ids/{number}") as answer:
            parsed[number] = fastavro.parse_schema(json.loads(json.load(answer)["schema"]))
    body = io.BytesIO(value[5:])
    record = fastavro.schemaless_reader(body, parsed[number])
    assert body.read() == b"", "bytes after the record"
    return record


found = {}
for topic in topics:
    partitions = consumer.list_topics(topic).topics[topic].partitions
    kinds, empty, examples = {}, {}, {}
    consumer.assign([TopicPartition(topic, n, 0) for n in partitions])
    ended = set()
    while len(ended) < len(partitions):
        message = consumer.poll(30)
        assert message is not None, f"{topic} does not end"
        if message.error():
            assert message.error().name() == "_PARTITION_EOF", message.error()
            ended.add(message.partition())
            continue
        if message.value() is None:
            header = dict(message.headers() or []).get("svc-type", b"").decode()
            empty[header] = empty.get(header, 0) + 1
            continue
        value = deserialize(message.value(), SerializationContext(topic, MessageField.VALUE))
        assert read_alone(message.value()) == value, f"{topic}: two readers disagree"
        name = kind(message.value())
        kinds[name] = kinds.get(name, 0) + 1
        examples[name] = value
    found[topic] = {"Kinds": kinds, "Empty": empty, "Examples": examples}
json.dump(found, sys.stdout, default=str)
