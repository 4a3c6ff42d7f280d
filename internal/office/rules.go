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

// Rules are settings determined by the computer's administrator: fixed ones, and defaults for a new office. The zero value
// has none. Rules are immutable.
type Rules struct {
	fixed, defaults []rule
	Wrong           []string // names of unusable rules, in order
}

type rule struct {
	name  string // JSON name in Settings
	at    []int  // index of the field
	value reflect.Value
}

// NewRules reads settings by their JSON names. Values are strings, booleans, numbers or lists; other ways of writing them,
// as in a registry or by hand, are accepted, too.
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
			to.SetInt(NoDueDays) // 0 means not chosen
		}
		return rule{name, f.Index, to}, ok
	}
	return rule{}, false
}

// fill stores v in a setting, however it was written.
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

// usable reports whether the value by itself is valid; settings that it needs may still be missing.
func (x rule) usable() bool {
	s := DefaultSettings()
	x.into(&s)
	return !slices.ContainsFunc(s.Check(), func(f FieldError) bool {
		return f.Field == x.name && f.Code != CodeConflict && f.Code != CodeMissing
	})
}

func (x rule) into(s *Settings) { reflect.ValueOf(s).Elem().FieldByIndex(x.at).Set(x.value) }

// Into applies the rules to s. An office that has not chosen its service yet also gets the defaults.
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

// Fixed reports whether only the administrator can change the setting.
func (r Rules) Fixed(name string) bool {
	return slices.ContainsFunc(r.fixed, func(x rule) bool { return x.name == name })
}

// Broken returns the settings of s that differ from fixed values.
func (r Rules) Broken(s Settings) (bad []FieldError) {
	is, must := reflect.ValueOf(s.Normal()), reflect.ValueOf(r.Into(s))
	for _, x := range r.fixed {
		if !reflect.DeepEqual(is.FieldByIndex(x.at).Interface(), must.FieldByIndex(x.at).Interface()) {
			bad = append(bad, FieldError{x.name, CodeFixed, message.FixedSetting(x.name)})
		}
	}
	return bad
}
