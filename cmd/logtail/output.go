package main

import (
	"io"

	"logkit/lib/format"
	"logkit/lib/record"
)

// outputBytes is how much is collected before it is written, if nothing has to be waited for.
const outputBytes = 64 << 10

// output prints messages to standard output through one buffer, which its owner flushes before waiting for anything.
type output struct {
	to      io.Writer
	printer format.Printer
	headers bool   // a line before messages of another topic than the last one's
	last    string // topic of the last message
	limit   int64  // messages that may be printed; 0: any number
	printed int64
	buf     []byte
	message format.Message
}

// full reports whether the limit is reached.
func (o *output) full() bool { return o.limit > 0 && o.printed >= o.limit }

// print adds one message. The record's bytes are not kept.
// A buffer that is full is written.
func (o *output) print(topic string, partition int32, rec *record.Record) error {
	o.add(topic, partition, rec)
	if len(o.buf) >= outputBytes {
		return o.flush()
	}
	return nil
}

// add puts a message into the buffer.
func (o *output) add(topic string, partition int32, rec *record.Record) {
	if o.headers && topic != o.last {
		if o.last != "" {
			o.buf = append(o.buf, '\n')
		}
		o.buf = append(append(append(o.buf, "==> "...), topic...), " <==\n"...)
		o.last = topic
	}
	o.message.Topic, o.message.Partition, o.message.Record = topic, partition, *rec
	o.buf = o.printer.Append(o.buf, &o.message)
	o.printed++
}

// point is what an output has come to.
type point struct {
	printed int64
	last    string
}

func (o *output) point() point { return point{o.printed, o.last} }

// forget empties the buffer, into which everything since the point was put.
func (o *output) forget(p point) { o.printed, o.last, o.buf = p.printed, p.last, o.buf[:0] }

func (o *output) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	_, err := o.to.Write(o.buf)
	o.buf = o.buf[:0]
	return err
}
