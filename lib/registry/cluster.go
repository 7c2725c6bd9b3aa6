package registry

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// NewID makes a random id of 16 bytes, as 22 characters of base64url: for clusters, topics and incarnations.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Plant creates the fixed part of the tree, and the chroot, where they are not there yet.
func (s *Session) Plant(ctx context.Context) error {
	for i := range s.root {
		if i > 0 && s.root[i] == '/' {
			if err := s.plantChroot(ctx, s.root[:i]); err != nil {
				return err
			}
		}
	}
	if s.root != "" {
		if err := s.plantChroot(ctx, s.root); err != nil {
			return err
		}
	}
	for _, path := range fixedPaths {
		var data []byte
		if path == nextIDPath {
			data = []byte("0")
		}
		if err := s.plant(ctx, path, data); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) plantChroot(ctx context.Context, path string) error {
	return s.read(ctx, "", func(string) error {
		_, err := s.conn.Create(path, []byte{}, 0, openACL)
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return at(path, err)
	})
}

// ClusterError says that the tree belongs to another cluster.
type ClusterError struct{ Want, Found string }

func (e *ClusterError) Error() string {
	return fmt.Sprintf("zookeeper holds cluster %s, not %s", e.Found, e.Want)
}

// ClusterID returns the id of the cluster that the tree belongs to, and "" when it has none.
func (s *Session) ClusterID(ctx context.Context) (string, error) {
	data, _, _, err := s.find(ctx, clusterIDPath)
	return strings.TrimSpace(string(data)), err
}

// JoinCluster makes id the tree's unless it has one. It returns the id that the tree has; when that is another than id,
// which is not "", the error is a *ClusterError.
func (s *Session) JoinCluster(ctx context.Context, id string) (string, error) {
	ours := id
	if ours == "" {
		ours = NewID()
	}
	if err := checkID(ours); err != nil {
		return "", err
	}
	if err := s.plant(ctx, clusterIDPath, []byte(ours)); err != nil {
		return "", err
	}
	found, err := s.ClusterID(ctx)
	if err == nil && id != "" && found != id {
		err = &ClusterError{Want: id, Found: found}
	}
	return found, err
}
