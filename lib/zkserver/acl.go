package zkserver

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Permissions of an access control list.
const (
	permRead   = 1
	permWrite  = 2
	permCreate = 4
	permDelete = 8
	permAdmin  = 16
	permAll    = 31
)

// acl grants permissions to an identity. Schemes: world (anyone), ip (address or prefix), digest (user and hash of the
// password); auth, in requests only, stands for the identities that the client has proved.
type acl struct {
	perms      int32
	scheme, id string
}

// identity is what a connection is known by: its ip, and what it has added by auth requests.
type identity struct{ scheme, id string }

// maxACL bounds the entries of a list, as it comes and as it is kept.
const maxACL = 256

// openACL is what a node without a list of its own has.
var openACL = []acl{{permAll, "world", "anyone"}}

func aclOf(n *node) []acl {
	if n.acl == nil {
		return openACL
	}
	return n.acl
}

// allowed reports whether one of the identities has one of the permissions on n.
func allowed(n *node, perms int32, who []identity) bool {
	for _, a := range aclOf(n) {
		if a.perms&perms == 0 {
			continue
		}
		if a.scheme == "world" && a.id == "anyone" {
			return true
		}
		if slices.ContainsFunc(who, a.covers) {
			return true
		}
	}
	return false
}

func (a acl) covers(who identity) bool {
	switch {
	case a.scheme != who.scheme:
		return false
	case a.scheme == "ip":
		prefix, ok := parseIP(a.id)
		addr, err := netip.ParseAddr(who.id)
		return ok && err == nil && prefix.Contains(addr)
	}
	return a.id == who.id
}

// fixACL checks the list of a request and puts the client's proven identities in the place of auth, as
// PrepRequestProcessor.fixupACL of ZooKeeper does. The open list becomes nil.
func fixACL(list []acl, who []identity) ([]acl, bool) {
	if len(list) > maxACL {
		return nil, false
	}
	var fixed []acl
	for i, a := range list {
		if slices.Contains(list[:i], a) {
			continue
		}
		switch {
		case a.scheme == "world" && a.id == "anyone", validID(a):
			fixed = append(fixed, a)
		case a.scheme == "auth":
			before := len(fixed)
			for _, w := range who {
				if w.scheme == "digest" {
					fixed = append(fixed, acl{a.perms, w.scheme, w.id})
				}
			}
			if len(fixed) == before {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	if slices.Equal(fixed, openACL) {
		return nil, true
	}
	return fixed, len(fixed) > 0 && len(fixed) <= maxACL
}

// aclBytes is what a list takes in memory, about.
func aclBytes(list []acl) (n int64) {
	for _, a := range list {
		n += 48 + int64(len(a.scheme)+len(a.id))
	}
	return n
}

func validID(a acl) bool {
	switch a.scheme {
	case "ip":
		_, ok := parseIP(a.id)
		return ok
	case "digest":
		user, hash, ok := strings.Cut(a.id, ":")
		return ok && user != "" && hash != "" && !strings.Contains(hash, ":")
	}
	return false
}

// parseIP reads an address, or a prefix such as 10.0.0.0/8.
func parseIP(s string) (netip.Prefix, bool) {
	text, bits, isPrefix := strings.Cut(s, "/")
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	length := addr.BitLen()
	if isPrefix {
		if length, err = strconv.Atoi(bits); err != nil {
			return netip.Prefix{}, false
		}
	}
	prefix, err := addr.Prefix(length)
	return prefix, err == nil
}

// maxSecret bounds what an auth request may prove, in bytes: it stays with the connection.
const maxSecret = 1024

// authenticate returns the identity that an auth request proves. Without a list of users to look them up in, ZooKeeper
// believes every digest: who knows the password of a node's list arrives at the same hash.
func authenticate(scheme string, secret []byte, remote string) (identity, bool) {
	switch {
	case len(secret) > maxSecret:
	case scheme == "digest":
		user, _, _ := strings.Cut(string(secret), ":")
		hash := sha1.Sum(secret)
		return identity{"digest", user + ":" + base64.StdEncoding.EncodeToString(hash[:])}, true
	case scheme == "ip":
		return identity{"ip", remote}, true
	}
	return identity{}, false
}

// redacted hides the hashes of a list from those who may read the node but not administer it.
func redacted(list []acl) []acl {
	list = slices.Clone(list)
	for i, a := range list {
		if a.scheme == "digest" {
			user, _, _ := strings.Cut(a.id, ":")
			list[i].id = user + ":x"
		}
	}
	return list
}

// userOf is the part of an identity that whoAmI tells.
func userOf(who identity) string {
	if who.scheme == "digest" {
		user, _, _ := strings.Cut(who.id, ":")
		return user
	}
	return who.id
}
