// Package logdir is a data directory: the logs of all partitions that a broker has, and what is remembered between one
// run and the next. Its layout is Kafka's:
//
//	DATA/
//	  .lock                              locked while a broker runs
//	  meta.properties                    identity: cluster.id, broker.id, incarnation
//	  zookeeper/                         of the embedded ZooKeeper (package zkserver)
//	  clean-shutdown                     how each log was left; there only after an orderly stop
//	  recovery-point-offset-checkpoint   ids before which everything is durable
//	  log-start-offset-checkpoint        ids before which everything has been deleted
//	  producer-id-block                  the first producer id that is left to give out
//	  topic-settings.json                what has been set for topics, as last learned from ZooKeeper
//	  TOPIC-PARTITION/                   the log of one partition (package commitlog)
//	    partition.metadata               id of the topic that it was made for
//	  TOPIC-PARTITION.RANDOM-delete/     a deleted one; goes at the next start at the latest
//	  TOPIC-PARTITION.RANDOM-stray/      one whose place another topic of that name has taken; stays
//
// A checkpoint is a text file: the line "0" (its version), the number of entries, and then a line for each entry,
//
//	TOPIC PARTITION NUMBER...
//
// with one number in the two of Kafka, and four in clean-shutdown: base id of the last segment, its bytes, id of the
// last record + 1, next base. Every file is replaced as a whole and durably. clean-shutdown is deleted, durably, before
// anything may be written, so that it never describes a log that has changed.
package logdir
