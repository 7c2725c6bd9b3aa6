package cli

import "context"

// layers returns what is to be set: for each option the values of the first of command line, environment and
// configuration file that has any. The values of one option never come from two places.
func (c *call) layers(ctx context.Context, getenv func(string) string) ([]setting, error) {
	for _, s := range c.settings {
		s.given = append(s.given, s)
	}
	settings := c.settings
	put := func(o *option, value, origin string) error {
		s, err := newSetting(o, value, origin)
		if err != nil {
			return err
		}
		o.given = append(o.given, s)
		settings = append(settings, s)
		return nil
	}
	for _, o := range c.options.list {
		for _, variable := range o.env {
			value := getenv(variable)
			if value == "" || len(o.given) > 0 {
				continue
			}
			if err := put(o, value, variable); err != nil {
				return nil, err
			}
		}
	}
	if !c.tool.Config {
		return settings, nil
	}
	entries, err := c.configEntries(ctx)
	if err != nil {
		return nil, err
	}
	fromFile := map[*option]bool{}
	for _, e := range entries {
		if len(e.given) > 0 && !fromFile[e.option] {
			continue
		}
		fromFile[e.option] = true
		if err := put(e.option, e.value, e.origin); err != nil {
			return nil, err
		}
	}
	return settings, nil
}
