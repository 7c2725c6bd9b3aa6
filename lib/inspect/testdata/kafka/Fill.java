// Fills topics of a broker on 127.0.0.1:19092: every codec, transactions, a compacted topic. java Fill.java
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Fill {
    static KafkaProducer<byte[], byte[]> producer(String codec, String transaction, boolean idempotent) {
        var config = new Properties();
        config.put("bootstrap.servers", "127.0.0.1:19092");
        config.put("compression.type", codec);
        config.put("enable.idempotence", "" + idempotent);
        config.put("linger.ms", "5");
        config.put("batch.size", "2000");
        if (transaction != null)
            config.put("transactional.id", transaction);
        return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static NewTopic topic(String name, String... config) {
        var all = new HashMap<>(Map.of("segment.bytes", "16384", "index.interval.bytes", "512"));
        for (int i = 0; i < config.length; i += 2)
            all.put(config[i], config[i + 1]);
        return new NewTopic(name, 1, (short) 1).configs(all);
    }

    static ProducerRecord<byte[], byte[]> record(String topic, String key, String value) {
        return new ProducerRecord<>(topic, 0, key == null ? null : key.getBytes(), value == null ? null : value.getBytes());
    }

    public static void main(String[] args) throws Exception {
        var config = new Properties();
        config.put("bootstrap.servers", "127.0.0.1:19092");
        Admin.create(config).createTopics(List.of(topic("codecs"), topic("txn"), topic("compacted", "cleanup.policy", "compact",
            "min.cleanable.dirty.ratio", "0.01", "delete.retention.ms", "100", "segment.ms", "2000", "segment.bytes", "4096"))).all().get();
        int n = 0;
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd"))
            try (var p = producer(codec, null, codec.length() % 2 == 0)) {
                for (int i = 0; i < 100; i++, n++) {
                    var r = record("codecs", i % 3 == 0 ? null : "k" + n, i % 7 == 6 ? null : "value " + n + " " + "x".repeat(i));
                    if (i % 4 == 1)
                        r.headers().add("h", ("v" + n).getBytes()).add("null", null);
                    p.send(r);
                    if (i % 20 == 0)
                        p.flush();
                }
            }
        try (var p = producer("none", "tx-1", true)) {
            p.initTransactions();
            for (int t = 0; t < 20; t++) {
                p.beginTransaction();
                for (int i = 0; i < 5; i++)
                    p.send(record("txn", "t" + t, "m" + i));
                p.flush();
                if (t % 3 == 1)
                    p.abortTransaction();
                else
                    p.commitTransaction();
            }
        }
        for (int round = 0; round < 2; round++) {
            try (var p = producer(round == 0 ? "none" : "gzip", null, true)) {
                for (int i = 0; i < 600 - 500 * round; i++) {
                    p.send(record("compacted", "key" + i % (10 + 30 * round), i % 50 == 49 ? null : "v" + i + "-" + "y".repeat(30)));
                    if (i % 5 == 0)
                        p.flush();
                }
            }
            Thread.sleep(round == 0 ? 3000 : 20000); // the cleaner works
        }
    }
}
