package main

import (
	"fmt"
	"math"
	"net"
	"strconv"

	"logkit/lib/cli"
	"logkit/lib/logdir"
	"logkit/lib/vfs"
)

// checkAddresses refuses what no client could be told: an address that stands for every interface.
func (o *options) checkAddresses() error {
	host, _, err := splitAddress("listen", o.listen)
	if err != nil {
		return err
	}
	if o.advertise != "" {
		host, port, err := splitAddress("advertise", o.advertise)
		switch {
		case err != nil:
			return err
		case port == 0 || isWildcard(host):
			return cli.Usagef("option --advertise %s: a host and a port that clients can connect to are needed", o.advertise)
		}
		return nil
	}
	if isWildcard(host) {
		return cli.WithHint(cli.Usagef("option --listen %s: clients cannot be told to connect to every interface", o.listen),
			"name the address that they reach this machine by: --advertise HOST:PORT")
	}
	return nil
}

func splitAddress(flag, address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, cli.Usagef("option --%s %q: not HOST:PORT", flag, address)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, cli.Usagef("option --%s %q: port %q, allowed are 0 to 65535", flag, address, text)
	}
	return host, int(n), nil
}

func isWildcard(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// probe finds out whether the port is taken before the broker is given a place in the cluster. Nobody is accepted there
// before it has one.
func (o *options) probe() error {
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return o.explainListen(err)
	}
	return listener.Close()
}

// writeAddrFile tells where clients are served, and which ZooKeeper coordinates: the lines "kafka HOST:PORT" and
// "zookeeper LIST". It appears whole, and only when they are.
func writeAddrFile(name, kafka, zookeeper string) error {
	return vfs.WriteFileAtomic(vfs.OS, name, fmt.Appendf(nil, "kafka %s\nzookeeper %s\n", kafka, zookeeper))
}

// brokerID is a broker id, or none.
type brokerID struct{ value int32 }

func (b *brokerID) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return fmt.Errorf("not a broker id: allowed is 0 to %d, in decimal digits", math.MaxInt32)
	}
	b.value = int32(n)
	return nil
}

func (b *brokerID) String() string {
	if b == nil || b.value == logdir.NoBrokerID {
		return ""
	}
	return strconv.Itoa(int(b.value))
}
