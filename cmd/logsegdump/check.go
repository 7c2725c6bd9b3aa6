package main

import (
	"fmt"

	"logkit/lib/inspect"
)

// check prints what is wrong, and nothing else.
type check struct {
	plain
	s       *session
	batches int64
	bytes   int64
	files   int
}

func (c *check) aside() bool { return true }

func (c *check) begin(*inspect.File) error {
	c.files++
	return nil
}

func (c *check) batch(_ *inspect.File, b *inspect.Batch) error {
	c.batches++
	c.bytes += b.Size
	return nil
}

func (c *check) verdict(_ *inspect.File, v *inspect.Verdict) error {
	switch {
	case c.s.o.json:
		return c.s.printJSON(newVerdictJSON(v))
	case c.s.o.quiet:
		return nil
	}
	_, err := fmt.Fprintln(c.s.out, c.s.alarm(safeName(v.Error())))
	return err
}

func (c *check) close() error {
	if c.s.o.verbose {
		c.s.env.Say("%s intact, %d bytes, in %s", plural(int(c.batches), "batch"), c.bytes, plural(c.files, "log"))
	}
	return nil
}
