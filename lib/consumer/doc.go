// Package consumer is one member of a consumer group as the paper has it: the members share the partitions of their
// topics by what they write to the registries, without anybody to lead them.
//
// # What a member does
//
//	registers           /consumers/G/ids/C
//	watches             members, topics, resets, and the owner of each partition that it waits for
//	computes            what it shall have (package assign): its target
//	releases            what is not in its target, with the last offset committed in the same step
//	claims              what is in its target and nobody's
//	pulls, hands over   from the committed offset on; see Next and Batch.Deliver
//	commits             what was delivered
//
// One goroutine does all of this but for the reading. Watches only tell it that something has changed: it then waits a
// moment for what else comes, reads what there is, and takes the next step towards the target. Any step may fail, or find
// the world changed again; it is taken again until what the member has is its target, however long that takes. Now and
// then it looks without being told to. Partitions that stay with the member are not touched meanwhile.
//
// # What holds
//
// A partition is one member's at a time: the owner node decides, not who computed what. It is released before anything
// is claimed, and never kept while the member waits for another one, unless it is in the target.
//
// Committed is what was delivered, and nothing else; by the owner, and nobody else: every commit names the version of the
// offset node that the claim has made, so that a member who was thought dead changes nothing.
//
// Delivered is only what the member may be sure to own still. It asks ZooKeeper several times in a session timeout whether
// it is registered; when the question that was answered last is older than three quarters of one, Deliver waits, and when
// for a quarter of one neither a question was answered nor a write begun. So a process that was stopped for that long
// (SIGSTOP, a suspended machine) ends the one call of write that it was in, and begins no other before it knows whether it
// is still the owner: its session may have ended, or somebody may have evicted it. When all is as before, it goes on as if
// nothing had been; when the session is another one it registers anew.
//
// So nothing is skipped, and nothing is delivered twice, unless a member is killed, its session ends, or it does not come
// back from write for longer than Options.Drain while somebody else is to have the partition.
//
// # Where reading begins
//
// At the committed offset; where there is none, at the beginning or the end of the partition, as Options.Latest says. A
// partition that was added to its topic after the group had begun with it begins at its beginning, be it that the group had
// no members then. The position is committed before anything was
// delivered from it, so that a successor does not choose another. An offset that the partition does not have (any more) is
// told, and goes to the beginning or the end in the same way.
package consumer
