// Package interop drives Kafka clients of other people against the built logd: what one of them produces each of them
// must read back, field by field, and end where the log ends.
//
// It is a module of its own, so that these clients stay out of the product's go.mod, and it imports nothing of logkit:
// the broker and the tools are met as users meet them, as binaries. LOGKIT_BIN names a directory that holds them; without
// it they are built from the parent module.
//
// The clients are franz-go, sarama and segmentio/kafka-go in this process, confluent-kafka and kafka-python as scripts
// below python/ that Debian's /usr/bin/python3 runs, and kcat. Those that are not installed are skipped, loudly.
//
// Partitions are named to the clients directly: nothing here needs a group coordinator. Producers are configured
// without idempotence.
package interop
