package format

import "errors"

// Choice is what a command line says about how messages are printed. JSON goes before Template, and that before the rest.
type Choice struct {
	JSON         bool
	Template     *Template // nil: none
	Null         bool      // NUL after each message, instead of Delimiter
	Delimiter    string    // after each message
	KeyDelimiter string    // between key and value; "": the key is not printed
	Terminal     bool      // whoever reads is a person
}

// Printer is the printer that was chosen.
func (c Choice) Printer() Printer {
	raw := Raw{Delimiter: []byte(c.Delimiter)}
	if c.Null {
		raw.Delimiter = []byte{0}
	}
	if c.KeyDelimiter != "" {
		raw.KeyDelimiter = []byte(c.KeyDelimiter)
	}
	var p Printer = raw
	switch {
	case c.JSON:
		return JSON{} // has no control characters as it is
	case c.Template != nil:
		p = c.Template
	}
	if c.Terminal {
		return Tame(p)
	}
	return p
}

// TemplateFlag is a template as the value of a flag.
type TemplateFlag struct {
	text string
	*Template
}

// Set parses a template, which is not empty.
func (f *TemplateFlag) Set(value string) (err error) {
	if value == "" { // most likely a variable that was not set
		return errors.New("empty: allowed is what is to be printed")
	}
	f.text = value
	f.Template, err = ParseTemplate(value)
	return err
}

// String is the text of the template.
func (f *TemplateFlag) String() string { return f.text }
