package settings

import (
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/widgets"
)

// setting is one setting with its input. Its value is a text, whatever the input is.
type setting struct {
	key   string // as in agent.FieldError
	field *widgets.Field
	tab   int
	typed bool // a text, not a choice
	input fyne.Disableable
	get   func() string
	set   func(string)
	read  func(office.Settings) string
	write func(*office.Settings, string)
}

// differs says whether something else is shown than is kept.
func (k *setting) differs(kept office.Settings) bool { return k.get() != k.read(kept) }

// remark says beside the input that it is changed, and what to do about that.
func (k *setting) remark() string {
	if k.typed {
		return lang.L("Changed. Press Enter to save or Escape to undo.")
	}
	return lang.L("Changed, not saved yet.")
}

// on and off are the values of a check box.
const on, off = "on", ""

func flag(set bool) string {
	if set {
		return on
	}
	return off
}

// text makes a setting of a typed text.
func (f *form) text(key, name, hint string, e *widgets.Entry, at func(*office.Settings) *string) *setting {
	return f.add(&setting{key: key, input: e, field: widgets.NewField(name, e, hint), get: func() string { return typed(e) }, set: e.SetText,
		read:  func(s office.Settings) string { return *at(&s) },
		write: func(s *office.Settings, v string) { *at(s) = v },
	}, e)
}

// choice is a selection of which each text stands for a value.
type choice struct {
	*widgets.Select
	values []string
}

func newChoice(values, texts []string, changed func()) *choice {
	return &choice{widgets.NewSelect(texts, func(string) { changed() }), values}
}

func (c *choice) value() string {
	if i := c.SelectedIndex(); i >= 0 {
		return c.values[i]
	}
	return ""
}

func (c *choice) show(value string) {
	if i := slices.Index(c.values, value); i >= 0 {
		c.Selected = c.Options[i]
	} else {
		c.Selected = ""
	}
	c.Refresh()
}

// pick makes a setting of a choice. A value of a later version that is not among the choices stays until another is chosen.
func (f *form) pick(key, name, hint string, c *choice, read func(office.Settings) string, write func(*office.Settings, string)) *setting {
	unknown := ""
	return f.add(&setting{key: key, input: c.Select, field: widgets.NewField(name, c.Select, hint),
		get: func() string {
			if c.SelectedIndex() < 0 {
				return unknown
			}
			return c.value()
		},
		set:  func(v string) { unknown = v; c.show(v) },
		read: read, write: write,
	}, nil)
}

// check makes a setting of a check box.
func (f *form) check(key string, c *widgets.Check, at func(*office.Settings) *bool) *setting {
	return f.add(&setting{key: key, input: c, field: widgets.NewField("", c, ""),
		get:   func() string { return flag(c.Checked) },
		set:   func(v string) { c.Checked = v == on; c.Refresh() },
		read:  func(s office.Settings) string { return flag(*at(&s)) },
		write: func(s *office.Settings, v string) { *at(s) = v == on },
	}, nil)
}

// typed is what stands in an entry.
func typed(e *widgets.Entry) string { return strings.TrimSpace(e.Text) }
