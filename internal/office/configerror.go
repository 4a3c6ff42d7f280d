package office

import "strings"

// ConfigError is a configuration that was not accepted. Nothing was changed.
type ConfigError struct{ Fields []FieldError }

func (e *ConfigError) Error() string {
	texts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		texts[i] = f.Text
	}
	return strings.Join(texts, " ")
}
