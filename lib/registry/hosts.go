package registry

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// lookupTimeout is how long a name may take to become an address.
const lookupTimeout = 3 * time.Second

// hosts are the addresses of an ensemble. Names are looked up once; those that nobody knows are left out, as long as
// there are others: one that is missing does not matter either.
type hosts struct {
	*zk.DNSHostProvider
	logger *slog.Logger
}

func newHosts(logger *slog.Logger) hosts {
	return hosts{zk.NewDNSHostProvider(zk.WithLookupTimeout(lookupTimeout)), logger}
}

// Init is that of zk.HostProvider.
func (h hosts) Init(servers []string) error {
	var known []string
	var last error
	for _, server := range servers {
		if err := lookUp(server); err != nil {
			h.logger.Warn("zookeeper left out", "server", server, "reason", err)
			last = err
			continue
		}
		known = append(known, server)
	}
	if len(known) == 0 {
		return last
	}
	return h.DNSHostProvider.Init(known)
}

func lookUp(server string) error {
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	var resolver net.Resolver
	if _, err := resolver.LookupHost(ctx, host); err != nil {
		return fmt.Errorf("zookeeper %s: %w", server, err)
	}
	return nil
}
