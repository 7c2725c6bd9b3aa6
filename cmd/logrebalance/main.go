// Logrebalance shows consumer groups, and moves what they have committed.
package main

import "logkit/lib/cli"

func main() { cli.Main(newTool()) }
