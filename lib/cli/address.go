package cli

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"
)

const (
	defaultBrokerPort    = 9092
	defaultZooKeeperPort = 2181
)

var errHostPort = errors.New("not an address: allowed is HOST:PORT, with an IPv6 address in brackets")

// parseHostPort reads HOST:PORT and returns it with the port; a missing one is defaultPort, or an error where that is 0.
func parseHostPort(s string, defaultPort int) (string, error) {
	host, port, err := splitHostPort(s)
	if err != nil {
		return "", err
	}
	if host == "" {
		return "", errHostPort
	}
	n := defaultPort
	if port != "" {
		n, err = parsePort(port)
	}
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "", errors.New("not an address: allowed is HOST:PORT with a port of 1 to 65535")
	}
	return net.JoinHostPort(host, strconv.Itoa(n)), nil
}

// splitHostPort returns the parts, checked for their letters; each may be missing.
func splitHostPort(s string) (host, port string, err error) {
	if rest, ok := strings.CutPrefix(s, "["); ok {
		host, port, ok = strings.Cut(rest, "]")
		ip, err := netip.ParseAddr(host)
		if !ok || err != nil || !ip.Is6() || port != "" && len(port) < 2 || port != "" && port[0] != ':' {
			return "", "", errHostPort
		}
		return host, strings.TrimPrefix(port, ":"), nil
	}
	host, port, colon := strings.Cut(s, ":")
	if colon && port == "" || strings.Contains(port, ":") || strings.IndexFunc(host, notInHostName) >= 0 {
		return "", "", errHostPort
	}
	return host, port, nil
}

func notInHostName(r rune) bool {
	return r != '-' && r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r < 0x80
}

func parsePort(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || !isDigits(s) {
		return 0, errors.New("not an address: allowed is a port of 0 to 65535, in decimal digits")
	}
	return int(n), nil
}

// HostPort is the address of something that listens: HOST:PORT, both present.
type HostPort string

func (h *HostPort) Set(value string) error {
	s, err := parseHostPort(value, 0)
	if err == nil {
		*h = HostPort(s)
	}
	return err
}

func (h *HostPort) String() string { return string(*h) }

func (*HostPort) Placeholder() string { return "HOST:PORT" }

// Listen is an address to listen on: HOST:PORT, where an empty HOST means every interface and port 0 a free one.
type Listen string

func (l *Listen) Set(value string) error {
	host, port, err := splitHostPort(value)
	if err != nil {
		return err
	}
	if port == "" {
		return errHostPort
	}
	n, err := parsePort(port)
	if err == nil {
		*l = Listen(net.JoinHostPort(host, strconv.Itoa(n)))
	}
	return err
}

func (l *Listen) String() string { return string(*l) }

func (*Listen) Placeholder() string { return "HOST:PORT" }

// Brokers is a value for a repeatable list of HOST:PORT, commas between several; a missing port is 9092.
func Brokers(dest *[]string) ucli.Generic {
	parse := func(s string) ([]string, error) { return parseList(s, defaultBrokerPort) }
	return &repeated[string]{dest: dest, parse: parse, format: strings.Clone, placeholder: "HOST:PORT"}
}

func parseList(s string, defaultPort int) ([]string, error) {
	var list []string
	for part := range strings.SplitSeq(s, ",") {
		address, err := parseHostPort(strings.TrimSpace(part), defaultPort)
		if err != nil {
			return nil, err
		}
		list = append(list, address)
	}
	return list, nil
}

// ZooKeeper names an ensemble: HOST:PORT,...[/chroot]; a missing port is 2181. The zero value names none.
type ZooKeeper struct {
	Servers []string // HOST:PORT each
	Chroot  string   // "" or "/path", without a slash at its end
}

// ParseZooKeeper reads a [ZooKeeper], such as a broker's config zookeeper.connect.
func ParseZooKeeper(s string) (ZooKeeper, error) {
	list, path, chroot := strings.Cut(s, "/")
	servers, err := parseList(list, defaultZooKeeperPort)
	if err != nil {
		return ZooKeeper{}, fmt.Errorf("%w, commas between several, and a /chroot at the end", err)
	}
	z := ZooKeeper{Servers: servers}
	if chroot && path != "" {
		z.Chroot = "/" + path
		for part := range strings.SplitSeq(path, "/") {
			if part == "" || part == "." || part == ".." || printable(part) != part || strings.Contains(part, ",") {
				return ZooKeeper{}, fmt.Errorf("chroot %q: allowed is /PATH, once, at the end, without commas and empty, . and .. parts", z.Chroot)
			}
		}
	}
	return z, nil
}

func (z *ZooKeeper) Set(value string) error {
	v, err := ParseZooKeeper(value)
	if err == nil {
		*z = v
	}
	return err
}

func (z *ZooKeeper) String() string { return strings.Join(z.Servers, ",") + z.Chroot }

func (*ZooKeeper) Placeholder() string { return "HOST:PORT,...[/CHROOT]" }
