// Logtail prints the messages of topics to standard output.
package main

import "logkit/lib/cli"

func main() { cli.Main(newTool()) }
