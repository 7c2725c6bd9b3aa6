// Logtopic creates, lists, describes, alters and deletes topics.
package main

import "logkit/lib/cli"

func main() { cli.Main(newTool()) }
