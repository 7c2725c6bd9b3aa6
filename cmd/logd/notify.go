package main

import (
	"fmt"
	"net"
)

// notify tells the service manager how the daemon stands, as sd_notify(3) does: a datagram to the socket that it has
// named in NOTIFY_SOCKET. An empty name means that nobody asked.
func notify(socket, state string) error {
	if socket == "" {
		return nil
	}
	// A leading @ means the abstract namespace, in package net too.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return nil
}
