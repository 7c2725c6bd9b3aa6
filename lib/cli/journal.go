package cli

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Priorities of lines that go to the journal, as sd-daemon(3) has them.
const (
	JournalError   = "<3>"
	JournalWarning = "<4>"
	JournalNotice  = "<5>"
	JournalInfo    = "<6>"
	JournalDebug   = "<7>"
)

// StderrJournal reports whether stderr goes to the journal of systemd, which names the device and the inode of what it
// reads in JOURNAL_STREAM: the variable alone would also be there for a child whose stderr is somewhere else.
func (e *Env) StderrJournal() bool {
	stream := e.Getenv("JOURNAL_STREAM")
	f, ok := e.Stderr.(*os.File)
	if stream == "" || !ok {
		return false
	}
	var stat unix.Stat_t
	return unix.Fstat(descriptor(f), &stat) == nil && stream == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}
