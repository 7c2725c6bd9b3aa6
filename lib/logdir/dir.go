package logdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"logkit/lib/commitlog"
	"logkit/lib/segment"
	"logkit/lib/vfs"
)

var (
	// ErrExists: there is such a topic already.
	ErrExists = errors.New("topic exists")
	// ErrNoTopic: there is no such topic.
	ErrNoTopic = errors.New("no such topic")
	// ErrLocked: another process works in the directory.
	ErrLocked = vfs.ErrLocked
)

// Options of a data directory. The zero value of each field is its default.
type Options struct {
	// Log is how each log is kept. Its Syncs is ignored: see Syncs.
	Log commitlog.Options
	// Syncs is how many flushes may run at the same time in the whole directory (8).
	Syncs int
	// OpenFiles is how many segment files are kept open for the next reader (segment.DefaultOpenFiles).
	OpenFiles int
	// IndexInterval is how many bytes of log lie between two index entries (4 KiB).
	IndexInterval int64
	// CheckpointInterval is how often recovery points are written, when they have moved (1 minute).
	CheckpointInterval time.Duration
	// Retention says when segments expire (never).
	Retention commitlog.Retention
	// RetentionCheck is how often expired segments are looked for (DefaultRetentionCheck).
	RetentionCheck time.Duration
	// Logger takes what is worth saying (none).
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Syncs <= 0 {
		o.Syncs = 8
	}
	if o.IndexInterval <= 0 {
		o.IndexInterval = 4 << 10
	}
	if o.CheckpointInterval <= 0 {
		o.CheckpointInterval = time.Minute
	}
	if o.RetentionCheck <= 0 {
		o.RetentionCheck = DefaultRetentionCheck
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Log.Syncs = commitlog.NewSyncLimit(o.Syncs, sayLate(o.Logger))
	return o
}

// sayLate says that flushes wait for their turn, once a minute at most.
func sayLate(logger *slog.Logger) func(time.Duration) {
	var next atomic.Int64 // when it may be said again, in Unix ns
	return func(waited time.Duration) {
		now := time.Now()
		if at := next.Load(); now.UnixNano() >= at && next.CompareAndSwap(at, now.Add(time.Minute).UnixNano()) {
			logger.Warn("flushes wait for their turn, records become visible late", "waited", waited)
		}
	}
}

// Dir is an open data directory. All methods may be called from several goroutines.
type Dir struct {
	fsys    vfs.FS
	path    string
	options Options
	env     *segment.Env
	lock    io.Closer
	meta    meta

	creating sync.Mutex // one topic at a time; taken before mu

	mu       sync.RWMutex
	logs     map[partition]*commitlog.Log
	ids      map[partition]string
	hidden   map[partition]bool
	unopened map[partition]error       // why; in topics, and not in logs
	topics   map[string]map[int32]bool // numbers of the partitions
	settings map[string]Settings       // what has been set, by topic; replaced as a whole
	closed   bool

	producerIDs producerIDs

	startsMu sync.Mutex // taken after the lock of a log
	starts   checkpoint // as last written; replaced as a whole

	checkpoints sync.Mutex // one writer of checkpoint files at a time
	written     checkpoint // recovery points as last written; guarded by checkpoints
	stop        chan struct{}
	background  sync.WaitGroup
}

// Open locks the directory at path, making it when it is missing, and opens the logs in it, recovering those that were
// not closed in order. A log that cannot be opened is said, is left as it is and keeps no other from being served; see
// Partition.Err. ErrLocked: another process has the directory. Without descriptors for all logs, none is opened. It
// blocks for as long as recovery takes.
func Open(fsys vfs.FS, path string, options Options) (*Dir, error) {
	d := &Dir{
		fsys: fsys, path: path, options: options.withDefaults(),
		logs: make(map[partition]*commitlog.Log), ids: make(map[partition]string), hidden: make(map[partition]bool), unopened: make(map[partition]error),
		topics: make(map[string]map[int32]bool), stop: make(chan struct{}),
	}
	d.env = &segment.Env{
		FS: fsys, Files: segment.NewFiles(fsys, d.options.OpenFiles),
		Logger: d.options.Logger, IndexInterval: d.options.IndexInterval,
	}
	if err := d.prepare(); err != nil {
		return nil, err
	}
	if err := d.openAll(); err != nil {
		d.abandon()
		return nil, err
	}
	d.background.Go(d.checkpointLoop)
	return d, nil
}

func (d *Dir) prepare() (err error) {
	if err := d.fsys.MkdirAll(d.path); err != nil {
		return fmt.Errorf("data directory %s: %w", d.path, err)
	}
	if err := syncParents(d.fsys, d.path); err != nil {
		return fmt.Errorf("data directory %s: %w", d.path, err)
	}
	if d.lock, err = d.fsys.Lock(filepath.Join(d.path, lockFile)); err != nil {
		return fmt.Errorf("data directory %s: %w", d.path, err)
	}
	if err := d.load(); err != nil {
		d.lock.Close()
		return err
	}
	return nil
}

// load reads what the directory remembers beside the logs.
func (d *Dir) load() (err error) {
	// An earlier process may have died before what it wrote was durable; what this one reads of it must not change.
	if err := d.fsys.SyncDir(d.path); err != nil {
		return err
	}
	if d.meta, err = loadMeta(d.fsys, d.path); err != nil {
		return err
	}
	if d.settings, err = loadSettings(d.fsys, d.path); errors.Is(err, errSettings) {
		d.options.Logger.Error("settings of topics are not known before zookeeper tells them", "reason", err)
		return nil
	}
	return err
}

// syncParents makes the names that lead to dir durable. A parent that may not be read, or knows no sync, is not ours.
func syncParents(fsys vfs.FS, dir string) error {
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		err := fsys.SyncDir(parent)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	return nil
}

// openAll opens every log in the directory, a few at a time.
func (d *Dir) openAll() error {
	marks, err := d.readMarks()
	if err != nil {
		return err
	}
	partitions, doomed, err := d.partitions()
	if err != nil {
		return err
	}
	var (
		group  sync.WaitGroup
		places = make(chan struct{}, 2*runtime.GOMAXPROCS(0))
		mu     sync.Mutex
		errs   []error
	)
	for _, p := range partitions {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			log, id, err := d.open(p, marks.of(p))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case vfs.IsNoDescriptor(err):
				errs = append(errs, err)
			case err != nil:
				d.addUnopened(p, id, err)
			default:
				d.add(p, log, id)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	d.sayMissing(marks, doomed)
	return d.forgetMarks(d.has)
}

// addUnopened makes known a partition whose log cannot be opened.
func (d *Dir) addUnopened(p partition, topicID string, err error) {
	d.options.Logger.Error("partition cannot be opened, and is not served; nothing of it is changed", "dir", filepath.Join(d.path, p.dir()), "reason", err)
	d.mu.Lock()
	d.add(p, nil, topicID)
	delete(d.logs, p)
	d.unopened[p] = err
	d.mu.Unlock()
	if d.options.Log.OnFailure != nil {
		d.options.Log.OnFailure(err)
	}
}

// keepUnopened leaves in points what was known of partitions that could not be opened.
func (d *Dir) keepUnopened(points checkpoint) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for p := range d.unopened {
		if known := d.written[p]; known != nil {
			points[p] = known
		}
	}
}

func (d *Dir) open(p partition, from commitlog.Checkpoint) (log *commitlog.Log, topicID string, err error) {
	dir := filepath.Join(d.path, p.dir())
	topicID, err = readTopicID(d.fsys, dir)
	if errors.Is(err, errTopicID) {
		d.options.Logger.Error("the topic of a partition cannot be read", "reason", err)
	} else if err != nil {
		return nil, "", err
	}
	log, err = commitlog.Open(d.env, dir, d.logOptions(p), from)
	return log, topicID, err
}

// abandon closes what a failed Open has opened; the next one recovers.
func (d *Dir) abandon() {
	for _, log := range d.logs {
		log.Close()
	}
	d.env.Files.Close()
	d.lock.Close()
}

// closers is how many logs are closed at the same time: each may wait for the disk.
const closers = 32

// Close flushes and closes all logs and writes down how they were left, so that the next Open need not read them. The
// directory may be opened again afterwards, also when an error is returned: then some logs are recovered.
func (d *Dir) Close() error {
	d.creating.Lock()
	defer d.creating.Unlock()
	if d.isClosed() {
		return commitlog.ErrClosed
	}
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	close(d.stop)
	d.background.Wait()

	var errs []error
	clean, points := make(checkpoint), make(checkpoint)
	d.keepUnopened(points)
	var (
		closing sync.WaitGroup
		places  = make(chan struct{}, closers)
		mu      sync.Mutex
	)
	for p, log := range d.logs {
		places <- struct{}{}
		closing.Go(func() {
			defer func() { <-places }()
			c, err := log.Close()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			}
			points[p] = []int64{log.RecoveryPoint()}
			if c != nil {
				clean[p] = []int64{c.Base, c.Size, c.High, c.End}
			}
		})
	}
	closing.Wait()
	errs = append(errs,
		d.env.Files.Close(),
		points.write(d.fsys, d.path, recoveryPointFile),
		clean.write(d.fsys, d.path, cleanFile),
		d.lock.Close())
	return errors.Join(errs...)
}

// Path is the path of the directory.
func (d *Dir) Path() string { return d.path }
