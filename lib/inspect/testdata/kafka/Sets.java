// Writes message sets of every magic, codec and timestamp type with Kafka's own builder: java Sets.java DIR
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.*;

public class Sets {
    static final Header[] NONE = new Header[0];

    static void put(ByteBuffer out, byte magic, Compression c, TimestampType type, long base, int n) {
        long time = 1500000000000L + base;
        var builder = MemoryRecords.builder(ByteBuffer.allocate(1 << 16), magic, c, type, base, time + 1000);
        for (int i = 0; i < n; i++) {
            byte[] key = i % 3 == 0 ? null : ("key-" + (base + i)).getBytes();
            byte[] value = i % 5 == 4 ? null : ("value-" + (base + i) + "-" + "abc".repeat(i)).getBytes();
            Header[] headers = {new RecordHeader("h" + i, ("x" + i).getBytes()), new RecordHeader("n", null)};
            if (magic >= 2)
                builder.append(time + i, key, value, i % 2 == 0 ? NONE : headers);
            else
                builder.append(magic == 0 ? -1L : time + i, key, value);
        }
        out.put(builder.build().buffer());
    }

    static SimpleRecord record(long time, String key, String value) {
        return new SimpleRecord(time, key == null ? null : key.getBytes(), value.getBytes());
    }

    static void transactions(ByteBuffer out, long base) {
        out.put(MemoryRecords.withTransactionalRecords(base, Compression.NONE, 4000L, (short) 2, 10, 5,
            record(1500000005000L, "tk", "tv"), record(1500000005001L, "tk2", "tv2")).buffer());
        out.put(MemoryRecords.withEndTransactionMarker(base + 2, 1500000005100L, 5, 4000L, (short) 2,
            new EndTransactionMarker(ControlRecordType.ABORT, 3)).buffer());
        out.put(MemoryRecords.withTransactionalRecords(base + 3, Compression.gzip().build(), 4000L, (short) 2, 12, 5,
            record(1500000006000L, "tk", "tv")).buffer());
        out.put(MemoryRecords.withEndTransactionMarker(base + 4, 1500000006100L, 5, 4000L, (short) 2,
            new EndTransactionMarker(ControlRecordType.COMMIT, 3)).buffer());
        out.put(MemoryRecords.withIdempotentRecords(base + 5, Compression.NONE, 4001L, (short) 0, 0, 6,
            record(1500000007000L, null, "idem")).buffer());
    }

    public static void main(String[] args) throws Exception {
        var codecs = List.of(Compression.NONE, Compression.gzip().build(), Compression.snappy().build(), Compression.lz4().build(), Compression.zstd().build());
        for (byte magic = 0; magic <= 2; magic++) {
            ByteBuffer out = ByteBuffer.allocate(1 << 20);
            long base = 0;
            for (Compression c : codecs) {
                if (magic < 2 && c.type() == CompressionType.ZSTD)
                    continue;
                put(out, magic, c, TimestampType.CREATE_TIME, base, 7);
                base += 7;
                if (magic > 0) {
                    put(out, magic, c, TimestampType.LOG_APPEND_TIME, base, 3);
                    base += 3;
                }
            }
            if (magic == 2)
                transactions(out, base);
            byte[] bytes = new byte[out.flip().remaining()];
            out.get(bytes);
            Files.write(Path.of(args[0], "magic" + magic + ".log"), bytes);
        }
    }
}
