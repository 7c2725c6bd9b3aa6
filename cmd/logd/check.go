package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	ucli "github.com/urfave/cli/v2"

	"golang.org/x/sys/unix"

	"logkit/lib/cli"
)

// durations is a value for an option that takes least or more, and at most most unless that is 0. Times are counted in
// milliseconds: less than one, and not 0, is refused.
func durations(dest *cli.Duration, least, most time.Duration) ucli.Generic {
	return &durationWithin{dest, least, most}
}

type durationWithin struct {
	*cli.Duration
	least, most time.Duration
}

func (d *durationWithin) Set(value string) error {
	var v cli.Duration
	if err := v.Set(value); err != nil {
		return err
	}
	given := time.Duration(v)
	switch least, most := cli.Duration(d.least), cli.Duration(d.most); {
	case given < d.least && d.most == 0:
		return fmt.Errorf("too short: allowed is %s or more", &least)
	case given < d.least || d.most != 0 && given > d.most:
		return fmt.Errorf("out of range: allowed are %s to %s", &least, &most)
	case given != 0 && given < time.Millisecond:
		return errors.New("too short: allowed are 0, and 1ms or more")
	}
	*d.Duration = v
	return nil
}

// sizes is a value for an option that takes least to most.
func sizes(dest *cli.Size, least, most cli.Size) *sizeWithin {
	return &sizeWithin{Size: dest, least: least, most: most}
}

type sizeWithin struct {
	*cli.Size
	least, most cli.Size
	given       bool
}

func (s *sizeWithin) Set(value string) error {
	v, err := cli.ParseSize(value)
	switch {
	case err != nil:
		return err
	case v < s.least || v > s.most:
		return fmt.Errorf("out of range: allowed are %s to %s", &s.least, &s.most)
	}
	*s.Size, s.given = v, true
	return nil
}

// check refuses values that each make sense, but not here, or not together.
func (o *options) check() error {
	switch {
	case o.dataDir == "":
		return cli.Usagef("option --data-dir: missing, and there is no home directory to put it in")
	case o.verbose && o.quiet:
		return cli.Usagef("options --verbose and --quiet: at most one of them")
	}
	if err := o.limits.settle(); err != nil {
		return err
	}
	return o.checkAddresses()
}

// checkAddrFile refuses a file that could not be written later on, when there are clients already. It is put in place by
// renaming, which would take the place of a device or a pipe, too; what a symbolic link stands for is written, not the link.
func (o *options) checkAddrFile() error {
	if o.addrFile == "" {
		return nil
	}
	if _, err := os.Lstat(o.addrFile); err == nil {
		name, err := filepath.EvalSymlinks(o.addrFile)
		if err != nil {
			return fmt.Errorf("option --addr-file %s: %w", o.addrFile, err)
		}
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("option --addr-file: %w", err)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("option --addr-file %s: not a regular file", o.addrFile)
		}
		o.addrFile = name
	}
	dir := filepath.Dir(o.addrFile)
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("option --addr-file: directory %s: %w", dir, err)
	}
	return nil
}
