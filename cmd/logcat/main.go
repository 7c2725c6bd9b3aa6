// Logcat sends lines from standard input or files to a topic, one message a line.
package main

import "logkit/lib/cli"

func main() { cli.Main(newTool()) }
