package registry_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/registry"
)

// kazooReads does what monitors of Kafka 0.8 do: paths and JSON, every number of which has to fit into 32 bits.
const kazooReads = `
import json, logging, sys
logging.disable(logging.CRITICAL)
from kazoo.client import KazooClient
zk = KazooClient(hosts=sys.argv[1]); zk.start()
def load(path): return json.loads(zk.get(path)[0].decode())
def small(v):
    if isinstance(v, dict): return all(small(x) for x in v.values())
    if isinstance(v, list): return all(small(x) for x in v)
    return not isinstance(v, float) and (not isinstance(v, int) or -2**31 <= v < 2**31)
for i in sorted(zk.get_children('/brokers/ids')):
    b, stat = load('/brokers/ids/' + i), zk.get('/brokers/ids/' + i)[1]
    print('broker', i, b['host'], b['port'], int(b['timestamp']) > 0, stat.ephemeralOwner != 0, small(b))
for t in sorted(zk.get_children('/brokers/topics')):
    d = load('/brokers/topics/' + t)
    print('topic', t, sorted(d['partitions'].items()), small(d), load('/config/topics/' + t)['config'])
    for p in sorted(zk.get_children('/brokers/topics/' + t + '/partitions')):
        s = load('/brokers/topics/%s/partitions/%s/state' % (t, p))
        print('state', t, p, s['leader'], s['leader_epoch'], s['isr'], small(s))
for g in zk.get_children('/consumers'):
    d = '/consumers/' + g
    for c in zk.get_children(d + '/ids'):
        m = load(d + '/ids/' + c)
        print('member', g, c, m['pattern'], m['subscription'], small(m))
    for t in zk.get_children(d + '/offsets'):
        for p in zk.get_children(d + '/offsets/' + t):
            print('offset', t, p, int(zk.get(d + '/offsets/' + t + '/' + p)[0]), zk.get(d + '/owners/' + t + '/' + p)[0].decode())
zk.stop()
`

func TestKazooReadsTheTree(t *testing.T) {
	if err := exec.Command("/usr/bin/python3", "-c", "import kazoo").Run(); err != nil {
		t.Skipf("NOT READ BY KAZOO: %v (Debian packages %s)", err, debian)
	}
	target := realTarget(t)
	ctx := background(t)
	c, err := registry.Connect(registry.Options{Servers: []string{target.addr}, Chroot: target.root})
	must(t, err)
	defer c.Close()
	must(t, c.Plant(ctx))
	must(t, c.RegisterBroker(ctx, lease(t, c), registry.Broker{ID: 3, Host: "h", Port: 9092, Incarnation: "x"}))
	made := get[registry.Topic](t)(c.CreateTopic(ctx, "T", [][]int32{{3}, {4}}, map[string]string{"retention.ms": "1000"}))
	m := join(t, target, "g", "c")
	o := get[*registry.Owned](t)(m.claim(ctx, made, 1, nil))
	must(t, m.commit(t, o, 1<<40))

	cmd := exec.Command("/usr/bin/python3", "-c", kazooReads, target.addr+target.root)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(t, err)
	want := `broker 3 h 9092 True True True
topic T [('0', [3]), ('1', [4])] True {'retention.ms': '1000'}
state T 0 3 0 [3] True
state T 1 4 0 [4] True
member g c static {'T': 1} True
offset T 1 1099511627776 c-0
`
	if diff := cmp.Diff(want, strings.ReplaceAll(string(out), "\r", "")); diff != "" {
		t.Error(diff)
	}
}
