//go:build !linux

package broker

import "syscall"

// sendFile is nil where there is no sendfile(2) that takes a position: ranges are copied.
var sendFile sendFunc

func writeMore(syscall.RawConn, []byte) error { panic("broker: no sendfile on this system") }
