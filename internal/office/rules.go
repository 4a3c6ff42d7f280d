package office

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"countersign/internal/message"
)

// Rules are settings that the administrator of the computer has decided: fixed ones, and those that an office begins with.
// The zero value is none. Rules do not change.
type Rules struct {
	fixed, defaults []rule
	Wrong           []string // the names of those that cannot be used, in order
}

type rule struct {
	name  string // as in the JSON of Settings
	at    []int  // the field
	value reflect.Value
}

// NewRules understands settings by their JSON names. Values are texts, truth values, numbers or lists; what a registry or a
// person writes for the same counts too.
func NewRules(fixed, defaults map[string]any) (r Rules) {
	r.fixed, r.defaults = r.understand(fixed), r.understand(defaults)
	return r
}

func (r *Rules) understand(values map[string]any) (list []rule) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		x, known := ruleOf(name, values[name])
		if !known || !x.usable() {
			r.Wrong = append(r.Wrong, name)
			continue
		}
		list = append(list, x)
	}
	return list
}

func ruleOf(name string, v any) (rule, bool) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.Anonymous || tag != name {
			continue
		}
		to := reflect.New(f.Type).Elem()
		ok := fill(to, v)
		if name == FieldDueDays && ok && to.Int() == 0 {
			to.SetInt(NoDueDays) // 0 is not chosen
		}
		return rule{name, f.Index, to}, ok
	}
	return rule{}, false
}

// fill puts v into a setting, whatever it was written as.
func fill(to reflect.Value, v any) bool {
	text := strings.TrimSpace(fmt.Sprint(v))
	switch to.Kind() {
	case reflect.String:
		s, is := v.(string)
		to.SetString(strings.TrimSpace(s))
		return is
	case reflect.Bool:
		on, err := strconv.ParseBool(text)
		to.SetBool(on)
		return err == nil
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 32)
		to.SetInt(n)
		return err == nil
	case reflect.Slice:
		return fillList(to, v)
	}
	return false
}

func fillList(to reflect.Value, v any) bool {
	switch v := v.(type) {
	case string:
		to.Set(reflect.ValueOf([]string{v}))
		return true
	case []string:
		to.Set(reflect.ValueOf(slices.Clone(v)))
		return true
	case []any:
		list := []string{}
		for _, e := range v {
			s, is := e.(string)
			if !is {
				return false
			}
			list = append(list, s)
		}
		to.Set(reflect.ValueOf(list))
		return true
	}
	return false
}

// usable reports whether the value alone is right; what it needs beside it may still be missing.
func (x rule) usable() bool {
	s := DefaultSettings()
	x.into(&s)
	return !slices.ContainsFunc(s.Check(), func(f FieldError) bool {
		return f.Field == x.name && f.Code != CodeConflict && f.Code != CodeMissing
	})
}

func (x rule) into(s *Settings) { reflect.ValueOf(s).Elem().FieldByIndex(x.at).Set(x.value) }

// Into is s as the rules have it. An office that has not chosen its service yet begins with the defaults.
func (r Rules) Into(s Settings) Settings {
	if len(r.fixed)+len(r.defaults) == 0 {
		return s
	}
	if !s.Configured() {
		plain := reflect.ValueOf(Settings{}.Normal())
		for _, x := range r.defaults {
			if now := reflect.ValueOf(s).FieldByIndex(x.at); now.IsZero() || reflect.DeepEqual(now.Interface(), plain.FieldByIndex(x.at).Interface()) {
				x.into(&s)
			}
		}
	}
	for _, x := range r.fixed {
		x.into(&s)
	}
	return s.Normal()
}

// Fixed reports whether nobody but the administrator changes the setting.
func (r Rules) Fixed(name string) bool {
	return slices.ContainsFunc(r.fixed, func(x rule) bool { return x.name == name })
}

// Broken are the settings of s that differ from what is fixed.
func (r Rules) Broken(s Settings) (bad []FieldError) {
	is, must := reflect.ValueOf(s.Normal()), reflect.ValueOf(r.Into(s))
	for _, x := range r.fixed {
		if !reflect.DeepEqual(is.FieldByIndex(x.at).Interface(), must.FieldByIndex(x.at).Interface()) {
			bad = append(bad, FieldError{x.name, CodeFixed, message.FixedSetting(x.name)})
		}
	}
	return bad
}
