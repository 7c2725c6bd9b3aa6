package registry

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// How long names may take to become addresses: at first, and again while no server is reached, which must not be much
// longer than the client pauses anyway.
const (
	lookupTimeout = 3 * time.Second
	againTimeout  = time.Second
)

// hosts are the servers of an ensemble, as a zk.HostProvider. Names are looked up at the start, and again whenever none of
// the addresses that they had has answered: a server that is moved, or its container begun anew, has another one then
// (ZOOKEEPER-2184). Those that nobody knows are left out, as long as there are others: one that is missing does not matter
// either. A name that is not known any more keeps its addresses.
//
// It is for the one goroutine of the client that connects.
type hosts struct {
	*zk.DNSHostProvider // of addresses alone
	logger              *slog.Logger
	lookup              func(ctx context.Context, host string) (addresses []string, err error)

	servers []server
}

// server is one of those that the client was given.
type server struct {
	name      string   // HOST:PORT
	addresses []string // found last, each with the port
	reason    string   // why there are none, as it was logged; "" when there are
}

func newHosts(logger *slog.Logger) *hosts {
	return &hosts{zk.NewDNSHostProvider(), logger, net.DefaultResolver.LookupHost, nil}
}

// Init is that of zk.HostProvider.
func (h *hosts) Init(names []string) error {
	h.servers = make([]server, len(names))
	for i, name := range names {
		h.servers[i].name = name
	}
	return h.find(lookupTimeout)
}

// Next is that of zk.HostProvider. round reports that all have been tried in vain.
func (h *hosts) Next() (address string, round bool) {
	address, round = h.DNSHostProvider.Next()
	if round && h.find(againTimeout) == nil {
		address, _ = h.DNSHostProvider.Next()
	}
	return address, round
}

// find looks all names up, at the same time. Its error is that none has an address.
func (h *hosts) find(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	errs := make([]error, len(h.servers))
	var wg sync.WaitGroup
	for i := range h.servers {
		wg.Go(func() { errs[i] = h.servers[i].find(ctx, h.lookup) })
	}
	wg.Wait()
	var known []string
	var last error
	for i := range h.servers {
		s := &h.servers[i]
		known = append(known, s.addresses...)
		if err := errs[i]; err != nil && len(s.addresses) == 0 {
			last = err
			if s.reason != err.Error() {
				s.reason = err.Error()
				h.logger.Warn("zookeeper left out", "server", s.name, "reason", err)
			}
		}
	}
	if len(known) == 0 {
		return last
	}
	return h.DNSHostProvider.Init(known)
}

func (s *server) find(ctx context.Context, lookup func(context.Context, string) ([]string, error)) error {
	host, port, err := net.SplitHostPort(s.name)
	if err != nil {
		return err
	}
	found, err := lookup(ctx, host)
	if err != nil {
		return fmt.Errorf("zookeeper %s: %w", s.name, err)
	}
	addresses := make([]string, len(found))
	for i, address := range found {
		addresses[i] = net.JoinHostPort(address, port)
	}
	s.addresses, s.reason = addresses, ""
	return nil
}
