package cli

// FlagDoc is a flag as documentation has to show it.
type FlagDoc struct {
	Names       []string // without dashes, the canonical one first
	Placeholder string   // of the value; empty for a switch
	Usage       string
	Default     string // empty when there is none worth telling
	Env         []string
	Choices     []string // fixed values, perhaps beside others
}

// CommandDoc is a tool, or one of its commands, as documentation has to show it.
type CommandDoc struct {
	Name  string // of the command; empty for the tool itself
	Usage string
	Flags []FlagDoc // its own ones, hidden ones left out
	Exits []Exit
}

// Describe returns the tool, and behind it its commands. It does not touch the variables of the flags.
func (t *Tool) Describe() []CommandDoc {
	docs := []CommandDoc{{Usage: t.Usage, Flags: flagDocs(newOptions(t).list), Exits: t.ExitTable()}}
	for _, scope := range t.scopes()[1:] {
		c := call{tool: t, command: scope.tool}
		docs = append(docs, CommandDoc{scope.tool.Name, scope.tool.Usage, flagDocs(scope.options), c.exitTable()})
	}
	return docs
}

func flagDocs(options []*option) []FlagDoc {
	var docs []FlagDoc
	for _, o := range options {
		if !o.hidden {
			docs = append(docs, FlagDoc{o.names, o.placeholder, o.usage, o.def, o.env, o.choices})
		}
	}
	return docs
}

// scope is a tool or a command with the options of its own.
type scope struct {
	tool    *Tool
	options []*option
}

// scopes are the tool itself and its commands, hidden options left out.
func (t *Tool) scopes() []scope {
	scopes := []scope{{t, visible(newOptions(t).list)}}
	for _, command := range t.Commands {
		set := newOptions(t) // refuses a name that the tool has already
		own := len(set.list)
		for _, f := range command.Flags {
			set.add(newOption(f, t.EnvPrefix))
		}
		scopes = append(scopes, scope{command, visible(set.list[own:])})
	}
	return scopes
}

func visible(list []*option) []*option {
	var shown []*option
	for _, o := range list {
		if !o.hidden {
			shown = append(shown, o)
		}
	}
	return shown
}
