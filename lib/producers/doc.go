// Package producers is what a partition remembers of its idempotent producers (KIP-98; Kafka's ProducerStateManager), so
// that a batch that is sent again is not stored again. It is pure: no I/O, no goroutine, and time comes from the caller.
//
// # Rules
//
// A producer has an id and an epoch, and numbers the records that it sends to a partition: sequences, from 0, which
// after 2^31-1 begin again at 0. Its batch is
//
//   - appended when it begins with the sequence behind the last one, or with 0 in a higher epoch, or with 0 when nothing
//     is known of the producer;
//   - stored already when it is one of the last five batches: whoever sends it again is told the ids that it has;
//   - a duplicate whose ids are forgotten (ErrDuplicate) when all its sequences have gone by before those;
//   - refused otherwise: a gap (ErrOutOfOrder), a lower epoch (ErrEpoch), or a producer that begins in the middle and is
//     not known (ErrUnknown). Kafka lets the last one in since 2.5; here it is refused, for it could follow a first batch
//     that was not stored, which then never would be. Clients answer it by a higher epoch or another id.
//
// Five is what clients rely on: none has more batches of a partition under way at a time.
//
// A producer is forgotten when it has stored nothing for Limits.Expiry, and, when there are more than Limits.Producers,
// the one that has been silent longest. Time is that of the appends, by the broker's clock, never that of the records.
//
// Asking (Check) changes nothing and appending (Add) cannot fail, so that an append that the disk has refused leaves no
// trace here: Add is called once the batch is in the log.
//
// # Snapshots
//
// What is remembered survives its batches, so it is kept in files of its own, in the format of Kafka; see Decode.
package producers
