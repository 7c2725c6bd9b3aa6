package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	ucli "github.com/urfave/cli/v2"
)

func TestSharedFlags(t *testing.T) {
	var brokers []string
	var zookeeper ZooKeeper
	var timeout time.Duration
	var verbose, quiet, json bool
	newTool := func() *Tool {
		brokers, zookeeper, timeout, verbose, quiet, json = nil, ZooKeeper{}, 0, false, false, false
		return &Tool{Name: "x", Flags: []ucli.Flag{
			BrokerFlag(&brokers), ZooKeeperFlag(&zookeeper), TimeoutFlag(&timeout), VerboseFlag(&verbose), LongOnly(QuietFlag(&quiet)), JSONFlag(&json, "as JSON"),
		}, Run: func(context.Context, *Env, []string) error { return nil }}
	}
	if got := execute(newTool(), nil); got != (result{}) {
		t.Fatalf("%+v", got)
	}
	if strings.Join(brokers, " ") != "127.0.0.1:9092" || timeout != 10*time.Second || len(zookeeper.Servers) != 0 {
		t.Errorf("defaults: %v, %v, %v", brokers, timeout, zookeeper)
	}
	env := map[string]string{"LOGKIT_ZOOKEEPER": "z/kafka", "LOGKIT_BROKERS": "a,b"}
	if got := execute(newTool(), env, "-v", "--quiet", "--json", "--timeout", "1m"); got != (result{}) {
		t.Fatalf("%+v", got)
	}
	if strings.Join(brokers, " ") != "a:9092 b:9092" || timeout != time.Minute || zookeeper.String() != "z:2181/kafka" || !verbose || !quiet || !json {
		t.Errorf("given: %v, %v, %s, %v %v %v", brokers, timeout, &zookeeper, verbose, quiet, json)
	}
	if got := execute(newTool(), nil, "-q"); got.code != ExitUsage {
		t.Errorf("LongOnly left -q: %+v", got)
	}
	if got := execute(newTool(), nil, "--timeout", "-1s"); got.code != ExitUsage {
		t.Errorf("negative timeout: %+v", got)
	}
}

func TestVersion(t *testing.T) {
	Version = "1.2-3"
	defer func() { Version = "" }()
	if got := versionLine("x"); !strings.HasPrefix(got, "x 1.2-3 (go1.") {
		t.Errorf("%q", got)
	}
}

// A placeholder that is no part of the sentence stands beside the name of the option alone.
func TestPlaceholderApart(t *testing.T) {
	for usage, want := range map[string]string{
		"where to, `HOST:PORT`; repeatable": "where to; repeatable",
		"a range: `A[..B]`":                 "a range",
		"`FILE` to write to":                "FILE to write to",
		"wait for `ACKS`, or nothing":       "wait for ACKS, or nothing",
	} {
		var value string
		o := newOption(&ucli.StringFlag{Name: "x", Destination: &value, Usage: usage}, "")
		if o.usage != want || !strings.Contains(usage, "`"+o.placeholder+"`") {
			t.Errorf("%q: %q, %q", usage, o.placeholder, o.usage)
		}
	}
}

func TestDescribe(t *testing.T) {
	saw := ""
	docs := commands(&saw).Describe()
	if len(docs) != 3 || docs[0].Name != "" || docs[1].Name != "create" || len(docs[1].Flags) != 1 || len(docs[0].Flags) != 3 {
		t.Fatalf("%+v", docs)
	}
	if f := docs[1].Flags[0]; f.Names[0] != "partitions" || f.Placeholder != "N" || f.Default != "1" || f.Usage != "how many" {
		t.Errorf("%+v", f)
	}
	if f := docs[0].Flags[0]; f.Env[0] != "LOGKIT_BROKERS" || f.Default != "127.0.0.1:9092" || f.Placeholder != "HOST:PORT" {
		t.Errorf("%+v", f)
	}
	for _, f := range (&daemon{}).tool().Describe()[0].Flags {
		// A prefix replaces the variables of shared flags.
		if len(f.Env) > 0 && !strings.HasPrefix(f.Env[0], "D_") {
			t.Errorf("%s reads %v", f.Names[0], f.Env)
		}
	}
}
