package main

import (
	"errors"
	"fmt"

	"logkit/lib/registry"
)

// groupName is the value of --group.
type groupName string

func (g *groupName) Set(value string) error {
	if value == "" || len(value) > registry.MaxName {
		return fmt.Errorf("not a name: allowed are 1 to %d bytes", registry.MaxName)
	}
	*g = groupName(value)
	return nil
}

func (g *groupName) String() string    { return string(*g) }
func (*groupName) Placeholder() string { return "G" }

// origin is the value of --from: earliest or latest.
type origin string

var origins = map[string]origin{"earliest": "earliest", "beginning": "earliest", "latest": "latest", "end": "latest"}

func (o *origin) Set(value string) error {
	from, known := origins[value]
	if !known {
		return errors.New("not known: allowed are earliest, latest")
	}
	*o = from
	return nil
}

func (o *origin) String() string    { return string(*o) }
func (*origin) Choices() []string   { return []string{"earliest", "latest"} }
func (*origin) Placeholder() string { return "NAME" }
