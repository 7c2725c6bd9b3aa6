package logdir

import (
	"path/filepath"
	"slices"
	"strings"
)

// zookeeperDir is where the embedded ZooKeeper of this directory's broker keeps its tree.
const zookeeperDir = "zookeeper"

// ZooKeeperDir is the path of the directory that the embedded ZooKeeper may use.
func (d *Dir) ZooKeeperDir() string { return filepath.Join(d.path, zookeeperDir) }

// partitions lists those that have a directory, and deletes what has been left of deleted ones, whose names it returns.
func (d *Dir) partitions() (list []partition, doomed []string, err error) {
	entries, err := d.fsys.ReadDir(d.path)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		path := filepath.Join(d.path, entry.Name())
		p, ok := parseDir(entry.Name())
		switch {
		case !entry.IsDir():
		case isDoomed(entry.Name()):
			if err := d.fsys.RemoveAll(path); err != nil {
				return nil, nil, err
			}
			doomed = append(doomed, entry.Name())
		case entry.Name() == zookeeperDir:
		case !ok:
			d.options.Logger.Warn("directory is no partition, left alone", "dir", path)
		default:
			list = append(list, p)
		}
	}
	return list, doomed, nil
}

// sayMissing tells of logs with records that were here, and whose directories are gone though nobody has deleted them.
func (d *Dir) sayMissing(m marks, doomed []string) {
	for p, point := range m.points {
		deleted := slices.ContainsFunc(doomed, func(name string) bool { return strings.HasPrefix(name, p.dir()+".") })
		if point[0] > 0 && !deleted && !d.has(p) {
			d.options.Logger.Error("partition is missing, with its records", "dir", filepath.Join(d.path, p.dir()), "end", point[0])
		}
	}
}
