// Package inspect takes the files of a log apart: what is in them, what is wrong with them, and what can be saved. It is
// the engine of logsegdump, and reads logs of logd and of Kafka since 0.7 (package record has the formats).
//
// A Scanner reads one log, forward only, from any io.Reader. Whatever is in it, it comes to the end: it gives batches
// whose checksum is right, and between them verdicts on what is no batch. Behind damage it goes on at the next position
// where a batch begins that checks. An Order follows the ids from batch to batch and from segment to segment, and finds
// out how they go on: by records, with gaps, as Kafka has them, or by bytes, without gaps, as logd has them.
//
// An Inspector does that for files and directories, holds indexes against their log and segments against each other, and
// checks the files beside them. It only reads. A Sieve lets those batches through that can stand in one log together;
// Salvage writes intact batches to another segment, Repair cuts off what a
// crash has left at the end and builds indexes again.
//
// # What is damage
//
// Not what is normal in a real log: ids that begin above the base of the segment, gaps between them, and batches that
// span more ids than they have records (compaction); indexes that are empty, missing, behind the log, or filled with
// zeros behind the last entry; an entry for several batches that were appended at once; epochs that begin at the end of
// the log; files that a compaction or a deletion has left, or a crash; what a recovery has cut off and kept beside the
// log; an empty segment below the end of the log, which was begun and given up; a log that is being written to.
//
// Nothing covers the leader epoch of a batch, and nothing but its neighbours its base offset: in a log of Kafka an id
// that was changed and still lies between those around it can not be told from a right one.
//
// # Bounds
//
// Memory is a small multiple of the largest batch that is there or claims to be, and no claim beyond Options.MaxBatch is
// believed. Searching for the next batch costs the same for each byte passed over, whatever lengths are claimed on the
// way. A batch decompresses to at most Options.MaxDecompressed.
package inspect
