// Logd is the broker: it keeps logs in a data directory and serves them to Kafka clients.
package main

import "logkit/lib/cli"

func main() { cli.Main(newTool()) }
