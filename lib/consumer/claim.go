package consumer

import (
	"logkit/lib/client"
	"logkit/lib/registry"
)

type partition struct {
	topic string
	id    int32
}

// claim is a partition that the member owns. The member's mutex guards all but owned, which is the loop's.
type claim struct {
	partition
	owned *registry.Owned
	added bool        // the partition was not there when the member saw its topic first, or when the group began with it
	blank bool        // nor when it asked for the ends: there is nothing to be read
	span  client.Span // as given to the reader last

	handed    int64 // ids below were handed to the caller; -1 while nobody knows where to begin
	offered   int64 // ids below were delivered, or are being written: whoever reads may be ahead of the write's end
	delivered int64 // ids below were delivered
	mark      int64 // ids below are to be committed: delivered, or what Confirm has said of it

	closing bool // is to be released: nothing is delivered any more but what is being written
	gone    bool // is not owned any longer
	overdue bool // closing has taken too long
	writing bool // the caller is in write
	done    bool // read to its end
	told    bool // that it can not be read
}

// live reports whether a batch that was read for a span may be delivered.
func (c *claim) live(tag int64) bool { return !c.closing && !c.gone && c.span.Tag == tag }

// drained reports whether a claim that is closing need not be kept any longer.
func (c *claim) drained() bool {
	return c.overdue || !c.writing && c.mark >= c.delivered
}

// position moves the claim to where reading begins anew.
func (c *claim) position(offset int64) {
	c.handed, c.offered, c.delivered, c.mark = offset, offset, offset, offset
}
