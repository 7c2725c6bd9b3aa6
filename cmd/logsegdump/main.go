// Logsegdump takes the files of a log apart: ours, and Kafka's of every age.
package main

import "logkit/lib/cli"

func main() { cli.Main(newTool()) }
