// Package commitlog is the log of one partition: segments in a row, one of them appended to, and the marks that say
// what readers may see (the paper, section 3.1; Kafka's Log and UnifiedLog).
//
// # Ids
//
// The id of a record is a position. A batch gets as base id the place where the log ends, and the log then ends
//
//	next = base + max(size of the batch in bytes, number of its records)
//
// so ids rise, but are not consecutive: those between the last record of a batch and the next base belong to nobody,
// and looking for one finds the batch behind it.
//
//	           start                    high watermark       end
//	             |                             |              |
//	  deleted    v    flushed: visible         v   appended   v   nothing yet
//	-------------+-----------------------------+--------------+------------------>
//
// Start is the id of the last deleted record + 1, the high watermark that of the last flushed record + 1. Both are told
// to clients; the end, the next base, never is.
//
// # Durability
//
// A record is visible only when it has been flushed with fdatasync(2), so nobody can have read what a crash takes away
// (the paper's rule). A flush happens when a producer waits for one, after Options.FlushMessages records, or
// Options.FlushInterval after the first record that is not flushed, whichever comes first. There is one flush at a time
// for each log, and whatever is appended while it runs shares the next one: group commit. An idle log does nothing.
//
// The disk is assumed to keep what a successful fdatasync of the file and fsync of the directory covered, and nothing
// else: bytes that were not synced may be there after a crash, or missing, or zero, or garbage.
//
// When an append is refused because the disk is full, what was written of it is cut off and the next append may be
// tried. Any other refusal, and any flush that fails, ends the writing for good: the kernel may have dropped what it
// could not write, so a second try would pretend. What is below the high watermark stays readable.
//
// # Producers
//
// A batch that an idempotent producer sends again is stored once (package producers). What that takes is kept beside the
// segments, in NUMBER.snapshot, where the number is the end of the log that it tells of: the last two of them.
//
// # Crash
//
// Open without a Clean reads everything from the recovery point on, keeps the longest run of intact batches, cuts off the
// rest and syncs what it keeps before the high watermark covers it. Below the recovery point nothing is ever cut: damage
// there is no trace of the crash.
//
// A crash tears the end of a log. When intact batches stand behind the bad place it is the disk that has changed
// something, or a machine that lost power while it wrote, and some of them may have been acknowledged. They cannot stay:
// ids would not join, and the producer of a batch that is lost could not send it again before them. So they are copied to
// a file beside the log, which is durable before anything is cut (segment.CutSuffix), and that is said. Without room for
// the copy the log is not cut: it ends before the bad place, takes no records, and is cut when there is room.
package commitlog
