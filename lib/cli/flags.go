package cli

import (
	"time"

	ucli "github.com/urfave/cli/v2"
)

// The flags that several tools have are declared here, so that they mean, read and default the same in all of them.

// DefaultTimeout is how long a tool waits for a broker.
const DefaultTimeout = 10 * time.Second

// BrokerFlag is -b, --broker. When dest is empty it gets the default, 127.0.0.1:9092.
func BrokerFlag(dest *[]string) ucli.Flag {
	if len(*dest) == 0 {
		*dest = []string{"127.0.0.1:9092"}
	}
	return &ucli.GenericFlag{Name: "broker", Aliases: []string{"b"}, Value: Brokers(dest), EnvVars: []string{"LOGKIT_BROKERS"},
		Usage: "a broker to ask first, `HOST:PORT`; repeatable, commas between several"}
}

// NoZooKeeperFlag is --zookeeper of a tool that needs no ZooKeeper: scripts give all tools the same options.
func NoZooKeeperFlag(dest *ZooKeeper) ucli.Flag {
	return &ucli.GenericFlag{Name: "zookeeper", Value: dest, DefaultText: "none", Usage: "taken, and without effect: this tool asks brokers only"}
}

// ZooKeeperFlag is --zookeeper; not given, the broker is asked.
func ZooKeeperFlag(dest *ZooKeeper) ucli.Flag {
	return &ucli.GenericFlag{Name: "zookeeper", Value: dest, EnvVars: []string{"LOGKIT_ZOOKEEPER"}, DefaultText: "asked from the broker",
		Usage: "the ZooKeeper ensemble, `HOST:PORT,...[/CHROOT]`"}
}

// TimeoutFlag is --timeout. When dest is 0 it gets DefaultTimeout. 0 is refused: some take it for "not at all" and some
// for "for ever".
func TimeoutFlag(dest *time.Duration) ucli.Flag {
	if *dest == 0 {
		*dest = DefaultTimeout
	}
	return &ucli.GenericFlag{Name: "timeout", Value: (*Timeout)(dest), Usage: "how long to wait for a broker"}
}

// OnceFlag is --once, for completions: whoever presses Tab does not want to wait for a broker that is starting. Nothing
// is tried a second time, and all of it ends after the timeout.
func OnceFlag(dest *bool) ucli.Flag {
	return &ucli.BoolFlag{Name: "once", Destination: dest, Hidden: true, Usage: "wait for nobody who refuses a connection"}
}

// VerboseFlag is -v, --verbose.
func VerboseFlag(dest *bool) ucli.Flag {
	return &ucli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Destination: dest, Usage: "say more on stderr"}
}

// QuietFlag is -q, --quiet.
func QuietFlag(dest *bool) ucli.Flag {
	return &ucli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Destination: dest, Usage: "say only what went wrong"}
}

// JSONFlag is --json, with the tool's own words.
func JSONFlag(dest *bool, usage string) ucli.Flag {
	return &ucli.BoolFlag{Name: "json", Destination: dest, Usage: usage}
}

// LongOnly takes the other names from a shared flag, for a tool whose short ones mean something else.
func LongOnly(f ucli.Flag) ucli.Flag {
	switch f := f.(type) {
	case *ucli.BoolFlag:
		f.Aliases = nil
	case *ucli.GenericFlag:
		f.Aliases = nil
	default:
		panic("cli: LongOnly is for the flags of this package")
	}
	return f
}
