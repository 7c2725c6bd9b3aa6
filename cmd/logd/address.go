package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"

	"logkit/lib/cli"
	"logkit/lib/logdir"
	"logkit/lib/vfs"
)

// checkAddresses refuses what no client could be told: an address that stands for every interface.
func (o *options) checkAddresses() error {
	switch {
	case o.advertise != "" && isWildcard(hostOf(string(o.advertise))):
		return cli.Usagef("option --advertise %s: a host and a port that clients can connect to are needed", o.advertise)
	case o.advertise == "" && isWildcard(hostOf(string(o.listen))):
		return cli.WithHint(cli.Usagef("option --listen %s: clients cannot be told to connect to every interface", o.listen),
			"name the address that they reach this machine by: --advertise HOST:PORT")
	}
	return nil
}

// hostOf is the host of an address that a flag has checked.
func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

func isWildcard(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// probe finds out whether the port is taken before the broker is given a place in the cluster. Nobody is accepted there
// before it has one.
func (o *options) probe() error {
	listener, err := net.Listen("tcp", string(o.listen))
	if err != nil {
		return o.explainListen(err)
	}
	return listener.Close()
}

// probeBoth finds out whether a port is taken before a data directory is made: that of a logd that can not start would only
// be in the way.
func (o *options) probeBoth() error {
	if err := o.probe(); err != nil || o.isEnsemble() {
		return err
	}
	listener, err := net.Listen("tcp", string(o.zookeeperListen))
	if err != nil {
		return o.explainZooKeeperListen(err)
	}
	return listener.Close()
}

// withoutCall is what is wrong with an address, without the names of system calls and the address once more.
func withoutCall(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	return err
}

// addrText tells where clients are served, and which ZooKeeper coordinates.
func addrText(kafka, zookeeper string) []byte {
	return fmt.Appendf(nil, "kafka %s\nzookeeper %s\n", kafka, zookeeper)
}

// removeAddrFile removes the file when nobody is served there any more, but not that of another logd, which has written
// its own in that place since.
func removeAddrFile(name string, text []byte) {
	if now, err := vfs.ReadFile(vfs.OS, name, int64(len(text))); err == nil && bytes.Equal(now, text) {
		os.Remove(name)
	}
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
