package logdir

import (
	"path/filepath"
)

// partitions lists those that have a directory, and deletes what has been left of deleted ones.
func (d *Dir) partitions() (list []partition, err error) {
	entries, err := d.fsys.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		path := filepath.Join(d.path, entry.Name())
		p, ok := parseDir(entry.Name())
		switch {
		case !entry.IsDir():
		case isDoomed(entry.Name()):
			if err := d.fsys.RemoveAll(path); err != nil {
				return nil, err
			}
		case !ok:
			d.options.Logger.Warn("directory is no partition, left alone", "dir", path)
		default:
			list = append(list, p)
		}
	}
	return d.fillHoles(list)
}

// fillHoles makes the directories of partitions that are missing below others of their topic. To make a topic, or to
// delete one, is to change several names, and a power failure in the middle may keep any of them.
func (d *Dir) fillHoles(list []partition) ([]partition, error) {
	there := make(map[partition]bool, len(list))
	for _, p := range list {
		there[p] = true
	}
	filled := list
	for _, p := range list {
		for hole := (partition{p.topic, p.number - 1}); hole.number >= 0 && !there[hole]; hole.number-- {
			d.options.Logger.Error("partition is missing, and begun without records", "topic", hole.topic, "partition", hole.number)
			if err := d.fsys.MkdirAll(filepath.Join(d.path, hole.dir())); err != nil {
				return nil, err
			}
			there[hole] = true
			filled = append(filled, hole)
		}
	}
	if len(filled) == len(list) {
		return list, nil
	}
	return filled, d.fsys.SyncDir(d.path)
}
