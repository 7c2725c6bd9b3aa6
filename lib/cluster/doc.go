// Package cluster is one broker's part in a cluster that has no master. What topics there are, and which broker has which
// partition, is in ZooKeeper (package registry); which partitions are on this machine is in a data directory (package
// logdir). A Member brings the second in line with the first, and says to the others that it is there.
//
//	registry.View ──> follow ──> align one topic after the other ──> logdir: create, delete, hide, set aside
//	      │                                                              │
//	      └──> Cluster: who serves what (Metadata)                       └──> Log: what is served here
//
// One goroutine follows the tree. It is driven by what is there, not by what has happened: an event only says that it
// should look, what it could not do it tries again, and every ten minutes it looks at everything.
//
// # What becomes of a directory
//
// Every partition on disk carries the id of the topic that it was made for. A topic that is deleted leaves a tombstone
// for each broker that has a part of it, so:
//
//	in the tree                          on disk, by its topic id      what is done
//	ours                                 -                             a log is begun
//	ours                                 the same                      served
//	ours                                 none (put there by hand)      served, and marked as the topic's
//	ours                                 another, buried               deleted; a log is begun
//	ours                                 another, not buried           set aside under another name, kept; a log is begun
//	not there, or another broker's       buried                        deleted
//	not there, or another broker's       not buried                    not served, kept, reported
//	not there, but adoption is asked for any                           becomes a topic
//	nobody's, and adoption is asked for  the same                      claimed, and served
//	another broker's, and there is none  the same                      claimed, and served
//
// Nothing is ever deleted of which the tree does not say that somebody has deleted it: a data directory that meets the
// wrong ZooKeeper, or an empty one, is as it was.
//
// # Without ZooKeeper
//
// What has been learned stays in force while ZooKeeper cannot be reached: the broker goes on serving what it serves. Only
// changes of topics have to wait. It registers again when ZooKeeper is back.
package cluster
