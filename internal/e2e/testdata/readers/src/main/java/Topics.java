import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads topics to their end with the Avro deserializer of Apicurio, and prints a line for each kind of record. */
public class Topics {
    public static void main(String[] args) {
        Map<String, Object> config = Map.of(
            ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, args[0],
            ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed",
            ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
            ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class,
            ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, AvroKafkaDeserializer.class,
            "apicurio.registry.url", args[1],
            "apicurio.registry.as-confluent", true, // four bytes of id; their next generation has no others
            "apicurio.registry.use-id", "contentId");
        try (KafkaConsumer<byte[], GenericRecord> consumer = new KafkaConsumer<>(config)) {
            for (int i = 2; i < args.length; i++) {
                List<TopicPartition> partitions = new ArrayList<>();
                consumer.partitionsFor(args[i]).forEach(p -> partitions.add(new TopicPartition(p.topic(), p.partition())));
                consumer.assign(partitions);
                consumer.seekToBeginning(partitions);
                Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
                Map<String, Integer> kinds = new TreeMap<>();
                while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                    for (ConsumerRecord<byte[], GenericRecord> record : consumer.poll(Duration.ofSeconds(1))) {
                        kinds.merge(record.value() == null ? "none" : record.value().getSchema().getName(), 1, Integer::sum);
                    }
                }
                String topic = args[i];
                kinds.forEach((kind, count) -> System.out.println(topic + " " + kind + " " + count));
            }
        }
    }
}
