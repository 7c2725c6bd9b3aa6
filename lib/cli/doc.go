// Package cli is the shell that every tool is wrapped in: arguments, environment, configuration file, help, messages,
// exit status, signals and closed pipes are the same in all of them because they are written here once.
//
// A tool is a [Tool] value whose flags are declared with urfave/cli. The arguments reach urfave in one unambiguous form,
//
//	NAME --flag=value ... -- OPERAND ...
//
// because urfave alone stops at the first operand, has no -n5 and no -fn5, sees -lines where --lines was meant, and
// refuses a flag under two of its names. [Tool.Execute] puts the arguments in that form (GNU order), adds what the
// environment and the configuration file say, and lets urfave set the values and start the run. Help, version, usage
// errors and exit status never come from urfave: it would print them to stdout, or call os.Exit.
//
// Flags are *ucli.BoolFlag, *ucli.StringFlag and *ucli.PathFlag, with a Destination, and *ucli.GenericFlag over the value
// types of this package. Any other kind panics at the start of the tool: urfave's numbers read 010 as 8 and its lists
// split at commas. No package variable of urfave is ever written, so tools may run in parallel.
package cli
