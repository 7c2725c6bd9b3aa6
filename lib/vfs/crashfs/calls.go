package crashfs

import (
	"fmt"
	"strings"
)

// Op is a kind of call.
type Op int

// The kinds of calls. Those from OpCreate to OpSyncDir can change what a crash leaves. MkdirAll and RemoveAll are made
// of OpMkdir and OpRemove, with OpStat and OpReadDir between them; File.Size is an OpStat.
const (
	OpOpenRead Op = iota
	OpOpenWrite
	OpReadDir
	OpStat
	OpRead
	OpCreate
	OpMkdir
	OpRename
	OpRemove
	OpLock
	OpWrite
	OpTruncate
	OpSync
	OpSyncDir
)

func (o Op) String() string {
	return [...]string{"open", "open for writing", "readdir", "stat", "read",
		"create", "mkdir", "rename", "remove", "lock", "write", "truncate", "sync", "syncdir"}[o]
}

func (o Op) changes() bool { return o >= OpCreate }

// Call is one call, as a hook sees it.
type Call struct {
	Op   Op
	Name string // path, as it was given to the call or to the opening of the file
	To   string // of OpRename: the path that it gets
}

func (c Call) String() string {
	if c.Op == OpRename {
		return fmt.Sprintf("%v %s to %s", c.Op, c.Name, c.To)
	}
	return fmt.Sprintf("%v %s", c.Op, c.Name)
}

func (c Call) is(op Op, suffix string) bool { return c.Op == op && strings.HasSuffix(c.Name, suffix) }
