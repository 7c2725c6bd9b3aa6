"""confluent-kafka, which is librdkafka's."""

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

import serve


class Client:
    def __init__(self):
        self.producers = {}
        self.admins = {}

    def admin(self, brokers):
        if brokers not in self.admins:
            self.admins[brokers] = AdminClient({"bootstrap.servers": brokers})
        return self.admins[brokers]

    def open(self, producer, brokers, codec, acks):
        self.producers[producer] = Producer({
            "bootstrap.servers": brokers, "compression.type": codec, "acks": acks,
            "linger.ms": 1000, "batch.num.messages": 100000, "queue.buffering.max.messages": 200000,
            "retry.backoff.ms": 50, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100,
            "max.in.flight.requests.per.connection": 1,  # order without idempotence
        })

    def send(self, producer, topic, partition, records):
        p = self.producers[producer]
        ids, errors = [serve.NONE] * len(records), []

        def delivered(i):
            def report(err, message):
                if err is not None:
                    errors.append(err)
                elif message.offset() is not None and message.offset() >= 0:
                    ids[i] = message.offset()
            return report

        for i, r in enumerate(records):
            key, value, headers = serve.fields(r)
            p.produce(topic, value, key, partition, on_delivery=delivered(i), timestamp=r["time"], headers=headers)
        p.flush()
        return {"ids": ids, "error": str(errors[0]) if errors else ""}

    def close(self, producer):
        self.producers.pop(producer).flush()

    def read(self, brokers, topic, partition, start, until):
        c = consumer(brokers)
        if start == serve.START:
            # As OFFSET_BEGINNING it would ask half a second later, when it has found the leader.
            start, _ = c.get_watermark_offsets(TopicPartition(topic, partition))
        c.assign([TopicPartition(topic, partition, start)])
        until, records = serve.decode(until), []
        try:
            while True:
                m = c.poll(1)
                if m is None:
                    continue
                if m.error():
                    if m.error().code() == KafkaError._PARTITION_EOF:
                        if until is None:
                            return records
                        continue
                    if until is not None and m.error().retriable() or m.error().code() in TRANSIENT:
                        continue
                    raise KafkaException(m.error())
                records.append(serve.record(m.offset(), m.timestamp()[1], m.key(), m.value(), m.headers()))
                if until is not None and m.value() == until:
                    return records
        finally:
            c.close()

    def times(self, brokers, topic, partition, times):
        c = consumer(brokers)
        try:
            low, high = c.get_watermark_offsets(TopicPartition(topic, partition))
            places = {serve.START: low, serve.END: high}
            return [places[t] if t in places else c.offsets_for_times([TopicPartition(topic, partition, t)])[0].offset
                    for t in times]
        finally:
            c.close()

    def create(self, brokers, topic, partitions, settings):
        wait(self.admin(brokers).create_topics([NewTopic(topic, partitions, 1, config=settings or {})]))

    def grow(self, brokers, topic, partitions):
        wait(self.admin(brokers).create_partitions([NewPartitions(topic, partitions)]))

    def replace(self, brokers, topic, settings):
        wait(self.admin(brokers).alter_configs([ConfigResource(ConfigResource.Type.TOPIC, topic, set_config=settings)]))

    def settings(self, brokers, topic):
        answers = self.admin(brokers).describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)])
        return {name: entry.value for f in answers.values() for name, entry in f.result().items()}

    def delete(self, brokers, topic):
        wait(self.admin(brokers).delete_topics([topic]))

    def topics(self, brokers):
        listed = self.admin(brokers).list_topics(timeout=20).topics
        return {name: len(t.partitions) for name, t in listed.items()}


# A reader that follows goes on after these; they tell of a broker that is away.
TRANSIENT = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE}


def consumer(brokers):
    return Consumer({
        "bootstrap.servers": brokers, "group.id": "unused", "enable.auto.commit": False, "enable.partition.eof": True,
        "auto.offset.reset": "error", "check.crcs": True, "fetch.wait.max.ms": 50, "fetch.error.backoff.ms": 50,
        "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100,
    })


def wait(futures):
    for f in futures.values():
        f.result()


if __name__ == "__main__":
    serve.serve(Client())
