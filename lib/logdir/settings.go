package logdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strconv"

	"logkit/lib/commitlog"
	"logkit/lib/vfs"
)

// settingsFile holds what has been set for topics, as JSON: {"TOPIC": {"NAME": "VALUE"}}.
const settingsFile = "topic-settings.json"

// errSettings: the file does not have the form that it must have.
var errSettings = errors.New("damaged settings")

// loadSettings reads the settings of all topics. errSettings: it cannot be believed. Then nothing may expire before it is
// known what has been set: a topic kept by other rules may lose what it should have kept.
func loadSettings(fsys vfs.FS, dir string) (map[string]Settings, error) {
	path := filepath.Join(dir, settingsFile)
	data, err := vfs.ReadFile(fsys, path, maxCheckpointBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := parseSettings(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, errSettings, err)
	}
	return all, nil
}

func parseSettings(data []byte) (map[string]Settings, error) {
	var all map[string]Settings
	if err := json.Unmarshal(data, &all); err != nil {
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) { // its text has the names of our types
			err = fmt.Errorf("%s does not belong there, allowed is {\"TOPIC\": {\"NAME\": \"VALUE\"}}", kind.Value)
		}
		return nil, err
	}
	for topic, s := range all {
		if err := ValidTopic(topic); err != nil {
			return nil, err
		}
		if err := s.Check(); err != nil {
			return nil, fmt.Errorf("topic %q: %w", topic, err)
		}
	}
	return all, nil
}

// Settings returns what has been set for a topic; it is never nil. The map is the caller's.
func (d *Dir) Settings(topic string) Settings {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := make(Settings, len(d.settings[topic]))
	maps.Copy(s, d.settings[topic])
	return s
}

// MaxMessageBytes returns what has been set as the size of a topic's largest batch, or 0 when nothing has. It allocates
// nothing.
func (d *Dir) MaxMessageBytes(topic string) int32 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	set := d.settings[topic][maxMessageBytes]
	if set == "" {
		return 0
	}
	n, _ := strconv.ParseInt(set, 10, 32) // it has been checked
	return int32(n)
}

// Effective returns how the logs of a topic are kept.
func (d *Dir) Effective(topic string) Effective {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.settings[topic].effective(&d.options)
}

// SetSettings replaces all that has been set for a topic. It is durable on return and holds from the next append on.
// Errors: ErrNoTopic, *SettingError, or what the file system said; then nothing has changed.
func (d *Dir) SetSettings(topic string, s Settings) error {
	d.creating.Lock()
	defer d.creating.Unlock()
	if d.isClosed() {
		return commitlog.ErrClosed
	}
	t, ok := d.Topic(topic)
	if !ok {
		return fmt.Errorf("topic %q: %w", topic, ErrNoTopic)
	}
	if maps.Equal(s, d.Settings(topic)) {
		return nil
	}
	if err := s.Check(); err != nil {
		return fmt.Errorf("topic %q: %w", topic, err)
	}
	if err := d.saveSettings(topic, s); err != nil {
		return err
	}
	for _, number := range t.Partitions {
		if log, ok := d.Log(topic, number); ok {
			log.SetOptions(d.Effective(topic).Log)
		}
	}
	return nil
}

// saveSettings makes s, or nothing when it is empty, the settings of a topic, durably. creating is held.
func (d *Dir) saveSettings(topic string, s Settings) error {
	all := maps.Clone(d.settings) // only changed with creating held
	if all == nil {
		all = make(map[string]Settings)
	}
	if len(s) == 0 {
		if _, ok := all[topic]; !ok {
			return nil
		}
		delete(all, topic)
	} else {
		all[topic] = maps.Clone(s)
	}
	data, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	if err := vfs.WriteFileAtomic(d.fsys, filepath.Join(d.path, settingsFile), append(data, '\n')); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settings = all
	return nil
}
