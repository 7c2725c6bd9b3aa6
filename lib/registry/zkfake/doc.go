// Package zkfake is a ZooKeeper in memory for tests: connections to it do what those of go-zookeeper do, with the same
// errors, versions, watches and counts, and fail when and how a test says.
//
// Before each call a connection asks its Faults what shall happen to it. All faults happen within the call, so that a
// test that makes one call at a time runs the same way each time. Time plays no part: sessions end when they are told to.
//
// What is not there: access lists, containers, and any difference between what is written and what is durable.
// Watches that fire while a connection is cut are delivered when it is back, as those that go-zookeeper sets anew; a
// node that was made and removed meanwhile is told of, other than there.
package zkfake
