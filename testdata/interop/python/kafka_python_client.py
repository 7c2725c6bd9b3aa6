"""kafka-python."""

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.errors import for_code

import serve


class Client:
    def __init__(self):
        self.producers = {}
        self.admins = {}

    def admin(self, brokers):
        if brokers not in self.admins:
            self.admins[brokers] = KafkaAdminClient(bootstrap_servers=brokers)
        return self.admins[brokers]

    def open(self, producer, brokers, codec, acks):
        self.producers[producer] = KafkaProducer(
            bootstrap_servers=brokers, compression_type=None if codec == "none" else codec,
            acks="all" if acks == -1 else acks, linger_ms=1000, batch_size=900000, retries=400, retry_backoff_ms=50,
            reconnect_backoff_ms=20, reconnect_backoff_max_ms=100, max_in_flight_requests_per_connection=1)

    def send(self, producer, topic, partition, records):
        p = self.producers[producer]
        futures = []
        for r in records:
            key, value, headers = serve.fields(r)
            futures.append(p.send(topic, value, key, headers, partition, r["time"]))
        p.flush()
        ids = [f.value.offset if f.succeeded() else serve.NONE for f in futures]
        errors = [f.exception for f in futures if not f.succeeded()]
        return {"ids": ids, "error": repr(errors[0]) if errors else ""}

    def close(self, producer):
        self.producers.pop(producer).close()

    def read(self, brokers, topic, partition, start, until):
        c = consumer(brokers)
        tp = TopicPartition(topic, partition)
        until, records = serve.decode(until), []
        try:
            c.assign([tp])
            if start == serve.START:
                c.seek_to_beginning(tp)
            else:
                c.seek(tp, start)
            end = c.end_offsets([tp])[tp]
            if until is None and end == c.beginning_offsets([tp])[tp]:
                return records
            while until is not None or c.position(tp) < end:
                for m in c.poll(1000, max_records=100000).get(tp, []):
                    records.append(serve.record(m.offset, m.timestamp, m.key, m.value, m.headers))
                    if until is not None and m.value == until:
                        return records
            return records
        finally:
            c.close(autocommit=False)

    def times(self, brokers, topic, partition, times):
        c = consumer(brokers)
        tp = TopicPartition(topic, partition)
        try:
            def find(t):
                if t == serve.START:
                    return c.beginning_offsets([tp])[tp]
                if t == serve.END:
                    return c.end_offsets([tp])[tp]
                found = c.offsets_for_times({tp: t})[tp]
                return serve.NONE if found is None else found.offset
            return [find(t) for t in times]
        finally:
            c.close(autocommit=False)

    def create(self, brokers, topic, partitions, settings):
        check(self.admin(brokers).create_topics([NewTopic(topic, partitions, 1, topic_configs=settings)]).topic_errors)

    def grow(self, brokers, topic, partitions):
        check(self.admin(brokers).create_partitions({topic: NewPartitions(partitions)}).topic_errors)

    def replace(self, brokers, topic, settings):
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs=settings)
        check((r[3], r[0], r[1]) for r in self.admin(brokers).alter_configs([resource]).resources)

    def settings(self, brokers, topic):
        answers = self.admin(brokers).describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        return {entry[0]: entry[1] for a in answers for r in a.resources for entry in r[4]}

    def delete(self, brokers, topic):
        check(self.admin(brokers).delete_topics([topic]).topic_error_codes)

    def topics(self, brokers):
        return {t["topic"]: len(t["partitions"]) for t in self.admin(brokers).describe_topics()}


def check(errors):
    for name, code, *message in errors:
        if code != 0:
            raise for_code(code)("%s: %s" % (name, message))


def consumer(brokers):
    return KafkaConsumer(
        bootstrap_servers=brokers, group_id=None, enable_auto_commit=False, auto_offset_reset="none", check_crcs=True,
        fetch_max_wait_ms=50, max_partition_fetch_bytes=16 << 20, retry_backoff_ms=50,
        reconnect_backoff_ms=20, reconnect_backoff_max_ms=100)


if __name__ == "__main__":
    serve.serve(Client())
