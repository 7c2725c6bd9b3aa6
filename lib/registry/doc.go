// Package registry is what brokers, consumers and tools keep in ZooKeeper: the tree of Kafka 0.8, so that its monitors
// read it, and beside it what a cluster without a master needs.
//
// # The tree
//
// Below the chroot, where there is one. E: ephemeral, it goes with the session that made it; all others stay. Nodes
// without text are empty. T is a topic, P a partition, B a broker's id, G and C a group and a member in EscapeName's form.
//
//	/brokers/ids/B                        E  {"jmx_port":-1,"timestamp":"1445518677618","host":"1.2.3.4","version":1,"port":9092,"incarnation":"q8ZjFqYdSx6Mh1Wc0bqYxA"}
//	/brokers/topics/T                        {"version":1,"partitions":{"0":[0],"1":[1]},"topic_id":"oyD8sTjKSqGqrN5ZbF0Z2g"}
//	/brokers/topics/T/partitions/P
//	/brokers/topics/T/partitions/P/state     {"controller_epoch":0,"leader":0,"version":1,"leader_epoch":0,"isr":[0]}
//	/config/topics/T                         {"version":1,"config":{"retention.ms":"1000"}}
//	/config/changes/config_change_0000000000 "T"
//	/admin/delete_topics/T
//	/consumers/G/ids/C                    E  {"version":1,"subscription":{"T":2},"pattern":"static","timestamp":"1445518677618","strategy":"sticky"}
//	/consumers/G/owners/T/P               E  C-0
//	/consumers/G/offsets/T/P                 1099511627776
//
// So far Kafka 0.8, but for incarnation, topic_id and strategy, which its readers skip; a member that assigns by range,
// as they do, has no strategy. They take every JSON number for 32 bits; what may be longer is a string. This is ours:
//
//	/cluster/id                              Xq0YhZ7ZQ0m9Jm4sG2m6VQ
//	/brokers/seqid                           4                                the id that is handed out next
//	/brokers/assigned/B                      {"version":1,"incarnation":"q8ZjFqYdSx6Mh1Wc0bqYxA"}
//	/admin/lock                              k1Qm0pGcQnqX9b1c2d3e4f           changes with every change of topics
//	/admin/group_locks/G                  E  {"version":1,"holder":"logrebalance reset, root@host, process 17","timestamp":"1445518677618"}
//	/admin/deleted_topics/ID-B               {"version":1,"topic":"T"}        broker B has still to remove topic ID
//	/consumers/G/offsets/T                   oyD8sTjKSqGqrN5ZbF0Z2g           the topic that the offsets below belong to
//	/consumers/G/metadata/T/P                {"version":1,"offset":"17","metadata":"aGk="}
//	/consumers/G/arbiter                     {"version":1,"kind":"registry","epoch":3,"nonce":"Vd1qkzv0Q7G1Jx8m0d3mJw","coordinator":-1}
//	/consumers/G/arbiter/registry-3-Vd1qkzv0Q7G1Jx8m0d3mJw
//	/consumers/G/reset                       b3Rm...                          changes with every reset of offsets
//
// # Brokers
//
// An id is handed out once, for ever, to one data directory, by its incarnation: seqid and assigned change in one step.
// A registration that is found is told apart by the session that holds it and by the incarnation: mine, mine of an earlier
// session (which ends within its timeout), or somebody else's.
//
// # Topics
//
// Every change of topics is one multi that begins with a compare-and-set of /admin/lock and ends with an entry below
// /config/changes. So changes come one after the other, the tree is whole after each, and whoever follows the entries
// reads only the topics that they name. The number of entries ever made is known from the parent's counts, so that nobody
// misses one without noticing; the last 64 are kept. State nodes change only when a partition is claimed: it has a leader
// while the first of its replicas is registered. A partition of which nobody knows who has it, because the tree was lost,
// has the one replica -1, until the broker that has it claims it.
//
// A deleted topic leaves a tombstone, by its random id, for each broker that has partitions of it, which that broker
// takes away when it has removed them. Partitions whose topic is neither there nor buried belong to nobody known.
//
// # Groups
//
// Owning a partition is the owner node and a version of the offset node, which are had in one multi; every commit names
// that version, and gives the next one. Whoever claims afterwards, or resets the offset, changes the version, and with it
// ends the former owner's commits: not clocks decide, and not sessions. Offset nodes are not removed while the group has
// members, for a node that is made again begins at version 0. Negative offsets mean none. The owner of the offsets of a
// topic is its id: those of an earlier topic of the name count for nothing.
//
// The arbiter says who acts for the group. Its child is the same value as a name: it is there as long as the value
// holds, so that every claim and commit can check the value in its multi without writing, and without being in the way
// of others. The kind changes only in a multi that removes and makes ids, which fails while there are members.
//
// # Lost connections
//
// A request whose connection broke may have been carried out. Everything here finds out: it waits for the server (sync)
// and looks, at the session that owns an ephemeral node, the token in a node, the id of a topic, the version of an offset.
// go-zookeeper may also carry out a request in a later session than it was made in; so what has to belong to a session
// takes a Lease, and counts only if the session is the same before and after. Nor is a node removed for being this
// session's: it may be another's, of version 0 again, when that is carried out. A version that every maker of such a
// node raises goes with the removal: that of the offset, that of ids.
//
// # Limits
//
// A multi takes at most 512 KiB. A topic of 1,700 partitions can be created in one (name of 20 bytes); AddPartitions
// and DeleteTopic go on in several. A topic's node takes 13 bytes a partition, and ZooKeeper 1 MiB a node.
package registry
