package registry

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// All paths are made here, and nowhere else.
const (
	consumersPath = "/consumers"
	brokersPath   = "/brokers"
	idsPath       = "/brokers/ids"
	topicsPath    = "/brokers/topics"
	nextIDPath    = "/brokers/seqid"
	assignedPath  = "/brokers/assigned"
	configPath    = "/config"
	topicConfigs  = "/config/topics"
	changesPath   = "/config/changes"
	adminPath     = "/admin"
	deletePath    = "/admin/delete_topics"
	deletedPath   = "/admin/deleted_topics"
	lockPath      = "/admin/lock"
	groupLocks    = "/admin/group_locks"
	clusterPath   = "/cluster"
	clusterIDPath = "/cluster/id"

	changePrefix = "config_change_"
)

// fixedPaths are there after Plant, parents first.
var fixedPaths = []string{
	consumersPath, brokersPath, idsPath, topicsPath, nextIDPath, assignedPath, configPath, topicConfigs, changesPath,
	adminPath, deletePath, deletedPath, lockPath, clusterPath,
}

func brokerPath(id int32) string   { return idsPath + "/" + itoa(id) }
func assignedTo(id int32) string   { return assignedPath + "/" + itoa(id) }
func topicPath(t string) string    { return topicsPath + "/" + t }
func configOf(t string) string     { return topicConfigs + "/" + t }
func deleteMark(t string) string   { return deletePath + "/" + t }
func partitions(t string) string   { return topicPath(t) + "/partitions" }
func groupLock(g string) string    { return groupLocks + "/" + EscapeName(g) }
func statePath(part string) string { return part + "/state" }

func partitionPath(t string, p int32) string { return partitions(t) + "/" + itoa(p) }

// tombstone is flat, so that it is found without knowing more than what a partition's directory tells.
func tombstone(topicID string, broker int32) string {
	return deletedPath + "/" + topicID + "-" + itoa(broker)
}

func itoa(n int32) string { return strconv.FormatInt(int64(n), 10) }

// atoi accepts only what itoa writes, of numbers that are not negative.
func atoi(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || itoa(int32(n)) != text {
		return 0, fmt.Errorf("number %q, allowed are 0 to 2147483647 in decimal", text)
	}
	return int32(n), nil
}

// numbers are the names that are numbers, of brokers or of partitions, sorted.
func numbers(names []string) []int32 {
	list := make([]int32, 0, len(names))
	for _, name := range names {
		if n, err := atoi(name); err == nil {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// The nodes of a group, below its own.

func (g *Group) ids() string                     { return g.dir + "/ids" }
func (g *Group) member(id string) string         { return g.ids() + "/" + EscapeName(id) }
func (g *Group) owners() string                  { return g.dir + "/owners" }
func (g *Group) ownersOf(t string) string        { return g.owners() + "/" + t }
func (g *Group) owner(t string, p int32) string  { return g.ownersOf(t) + "/" + itoa(p) }
func (g *Group) offsets() string                 { return g.dir + "/offsets" }
func (g *Group) offsetsOf(t string) string       { return g.offsets() + "/" + t }
func (g *Group) offset(t string, p int32) string { return g.offsetsOf(t) + "/" + itoa(p) }
func (g *Group) notes() string                   { return g.dir + "/metadata" }
func (g *Group) notesOf(t string) string         { return g.notes() + "/" + t }
func (g *Group) note(t string, p int32) string   { return g.notesOf(t) + "/" + itoa(p) }
func (g *Group) arbiter() string                 { return g.dir + "/arbiter" }
func (g *Group) reset() string                   { return g.dir + "/reset" }

func (g *Group) term(a Arbiter) string {
	return g.arbiter() + "/" + string(a.Kind) + "-" + itoa(a.Epoch) + "-" + a.Nonce
}

// MaxTopicName is the longest name of a topic in bytes, as in Kafka.
const MaxTopicName = 249

// CheckTopic holds a topic's name to Kafka's rule. Such a name is a component of a path as it is.
func CheckTopic(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > MaxTopicName {
		return fmt.Errorf("topic name %.300q: allowed are 1 to %d bytes; . and .. are not names", name, MaxTopicName)
	}
	for i := range len(name) {
		if c := name[i]; !alphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return fmt.Errorf("topic name %q: byte %q, allowed are letters, digits and . _ -", name, c)
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// ParseConnect takes a connect string apart: "HOST:PORT,HOST:PORT/CHROOT", as in Kafka's zookeeper.connect. Ports
// default to 2181.
func ParseConnect(text string) (servers []string, chroot string, err error) {
	hosts, path, found := strings.Cut(text, "/")
	if found && path != "" {
		chroot = "/" + path
	}
	if err := checkChroot(chroot); err != nil {
		return nil, "", err
	}
	if strings.Contains(path, ",") {
		return nil, "", fmt.Errorf("zookeeper address %q: a chroot stands once, at the end, allowed is HOST:PORT[,HOST:PORT]...[/CHROOT]", text)
	}
	for _, host := range strings.Split(hosts, ",") {
		if host = strings.TrimSpace(host); host == "" {
			return nil, "", fmt.Errorf("zookeeper address %q: empty host, allowed is HOST:PORT[,HOST:PORT]...[/CHROOT]", text)
		}
		if !strings.Contains(host, ":") {
			host += ":2181"
		}
		if _, port, err := net.SplitHostPort(host); err != nil {
			return nil, "", fmt.Errorf("zookeeper address %q: %q is not HOST:PORT", text, host)
		} else if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, "", fmt.Errorf("zookeeper address %q: port %q, allowed are 1 to 65535", text, port)
		}
		servers = append(servers, host)
	}
	return servers, chroot, nil
}

func checkChroot(chroot string) error {
	if chroot == "" {
		return nil
	}
	if chroot[0] != '/' {
		return fmt.Errorf("zookeeper chroot %q, allowed is a path from the root", chroot)
	}
	for _, name := range strings.Split(chroot[1:], "/") {
		if name == "" || name == "." || name == ".." || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return fmt.Errorf("zookeeper chroot %q: component %q, allowed are printable ASCII names", chroot, name)
		}
	}
	if strings.HasPrefix(chroot+"/", "/zookeeper/") {
		return fmt.Errorf("zookeeper chroot %q, /zookeeper is the server's own", chroot)
	}
	return nil
}
