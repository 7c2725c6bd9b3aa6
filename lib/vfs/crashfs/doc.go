// Package crashfs is a file system in memory, for tests, that crashes, fills up and fails on demand. What chance decides
// comes from a seed. It is what package vfs asks the disk to be, and nothing better.
//
// # Two copies of everything
//
// A file has the bytes that a process sees (the page cache) and the bytes on the disk. Writing and truncating change the
// first, and are pending until Sync has copied them to the second. A directory has, in the same way, names as they are
// seen and names on the disk: creating, renaming and removing are pending until SyncDir of that directory. Neither
// brings the other about: a synced file whose name was not synced may be gone, and a synced name may stand for an empty
// file. A Sync covers what was done before it was called, not what came while it ran.
//
// # Two ways to crash
//
// A process crash (ProcessCrash: kill -9) takes no bytes and no names: all that was written is still seen, and what was
// pending stays pending. Open files and locks are gone. A write that the process dies in may be done in part.
//
// A power loss (PowerLoss) leaves what is on the disk, and of what was pending
//
//   - of each piece of a write in one 512-byte sector: the written bytes, those that were there before (zeros behind the
//     end), zeros, or garbage. Bytes that were synced and have not been written to since never change, also when their
//     neighbours in the sector do.
//   - a file length: the synced one, the last one, or any between the smallest and the largest since.
//   - of the changes of names any subset, as long as what happened to one name is kept in order, without gaps; a rename
//     is kept or lost as a whole.
//
// Crash gives the file system that the next process finds. It can be crashed in turn.
//
// # Failures
//
// A failed write (by Fail, or because the disk is full) may have written a part of its bytes. A failed Sync does what
// Linux does: what was pending is given up as in a power loss and counts as clean, so that it is still seen, and the
// next Sync succeeds without writing it; DropCaches shows what is on the disk. Every other call that fails does nothing.
//
// Names take no room, a hole as much as data. Times are those of the wall clock and survive.
package crashfs
