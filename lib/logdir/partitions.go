package logdir

import (
	"path/filepath"
)

// zookeeperDir is where the embedded ZooKeeper of this directory's broker keeps its tree.
const zookeeperDir = "zookeeper"

// ZooKeeperDir is the path of the directory that the embedded ZooKeeper may use.
func (d *Dir) ZooKeeperDir() string { return filepath.Join(d.path, zookeeperDir) }

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
		case entry.Name() == zookeeperDir:
		case !ok:
			d.options.Logger.Warn("directory is no partition, left alone", "dir", path)
		default:
			list = append(list, p)
		}
	}
	return list, nil
}
