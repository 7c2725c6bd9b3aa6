package cli

import (
	"testing"

	ucli "github.com/urfave/cli/v2"
)

func TestBrokers(t *testing.T) {
	checkValues(t, func() ucli.Generic { list := []string{"127.0.0.1:9092"}; return Brokers(&list) }, []valueRow{
		{"a", "a:9092"}, {"a:1", "a:1"}, {"a,b:2", "a:9092,b:2"}, {"a, b", "a:9092,b:9092"}, {"10.0.0.1:9", "10.0.0.1:9"}, {"[::1]", "[::1]:9092"},
		{"[::1]:9", "[::1]:9"}, {"[fe80::1%eth0]:9", "[fe80::1%eth0]:9"}, {"my_host-1.example.", "my_host-1.example.:9092"}, {"bücher.example", "bücher.example:9092"},
		{"a:65535", "a:65535"}, {"a:09092", "a:9092"},
		{"", ""}, {",", ""}, {"a,", ""}, {":9092", ""}, {"a:", ""}, {"a:0", ""}, {"a:65536", ""}, {"a:kafka", ""}, {"a:+1", ""}, {"a:b:c", ""}, {"::1", ""}, {"::1:9", ""},
		{"[::1", ""}, {"[::1]9", ""}, {"[::1]:", ""}, {"[::1]:0", ""}, {"[1.2.3.4]:9", ""}, {"[]:9", ""}, {"[x]:9", ""}, {"kafka://a:1", ""}, {"a b", ""}, {"a/b", ""}, {"a\x00", ""}, {"a:1:", ""},
	})
}

func TestHostPort(t *testing.T) {
	checkValues(t, func() ucli.Generic { return new(HostPort) }, []valueRow{
		{"a:1", "a:1"}, {"[::1]:1", "[::1]:1"}, {"a", ""}, {":1", ""}, {"a:0", ""}, {"", ""},
	})
	checkValues(t, func() ucli.Generic { return new(Listen) }, []valueRow{
		{"127.0.0.1:9092", "127.0.0.1:9092"}, {"127.0.0.1:0", "127.0.0.1:0"}, {":9092", ":9092"}, {"[::]:0", "[::]:0"}, {"0.0.0.0:1", "0.0.0.0:1"},
		{"127.0.0.1", ""}, {":", ""}, {"", ""}, {"a:x", ""}, {"a:70000", ""},
	})
}

func TestZooKeeper(t *testing.T) {
	checkValues(t, func() ucli.Generic { return new(ZooKeeper) }, []valueRow{
		{"a", "a:2181"}, {"a:1,b", "a:1,b:2181"}, {"a/kafka", "a:2181/kafka"}, {"a,b:1/x/y", "a:2181,b:1/x/y"}, {"a/", "a:2181"}, {"[::1]:1/x", "[::1]:1/x"},
		{"", ""}, {"/kafka", ""}, {"a//x", ""}, {"a/x/", ""}, {"a/../x", ""}, {"a/./x", ""}, {"a/x,b", ""}, {"a/x,b/x", ""}, {"a/\x01", ""}, {"a:x/y", ""},
	})
	z, err := ParseZooKeeper("a:1,b/x/y")
	if err != nil || len(z.Servers) != 2 || z.Servers[1] != "b:2181" || z.Chroot != "/x/y" {
		t.Errorf("%+v %v", z, err)
	}
}

// FuzzAddress: no panic in any reader of addresses; what String says reads as the same.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"", "a", "a:1,b:2/x", "[::1]:9092", "[", "]", "[]", ":", "::", "[::1%]:1", "a:99999999999999999999", "a/\xff", ",,,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, newValue := range []func() ucli.Generic{
			func() ucli.Generic { return Brokers(new([]string)) }, func() ucli.Generic { return new(ZooKeeper) },
			func() ucli.Generic { return new(HostPort) }, func() ucli.Generic { return new(Listen) },
		} {
			v, again := newValue(), newValue()
			if v.Set(in) != nil {
				continue
			}
			if err := again.Set(v.String()); err != nil || again.String() != v.String() {
				t.Fatalf("%q is %s, which is %s (%v)", in, v, again, err)
			}
		}
	})
}
