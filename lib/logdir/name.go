package logdir

import (
	"fmt"
	"strconv"
	"strings"
)

// maxTopicName is the longest topic name in bytes (Kafka's Topic.MAX_NAME_LENGTH).
const maxTopicName = 249

// TopicNameError says why a topic may not have that name.
type TopicNameError struct {
	Name   string
	Reason string
}

func (e *TopicNameError) Error() string {
	return fmt.Sprintf("topic name %q: %s", e.Name, e.Reason)
}

// ValidTopic tells whether name may be that of a topic, by Kafka's rule: 1 to 249 of [a-zA-Z0-9._-], but not "." or
// "..". The error is a *TopicNameError.
func ValidTopic(name string) error {
	reason := ""
	switch {
	case name == "":
		reason = "empty"
	case name == "." || name == "..":
		reason = "names a directory"
	case len(name) > maxTopicName:
		reason = fmt.Sprintf("%d bytes, at most %d allowed", len(name), maxTopicName)
	default:
		for i := range len(name) {
			if c := name[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
				reason = fmt.Sprintf("byte %q at %d, allowed are letters, digits and . _ -", c, i)
				break
			}
		}
	}
	if reason == "" {
		return nil
	}
	return &TopicNameError{Name: name, Reason: reason}
}

// parseDir reads topic and partition out of the name of a log's directory, which is split at the last hyphen.
func parseDir(name string) (p partition, ok bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return p, false
	}
	number, err := strconv.ParseInt(name[i+1:], 10, 32)
	p = partition{name[:i], int32(number)}
	return p, err == nil && p.dir() == name && number >= 0 && ValidTopic(p.topic) == nil
}
