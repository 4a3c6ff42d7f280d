package office

import (
	"countersign/internal/message"
)

// ConfigError is a configuration that was not accepted. Nothing was changed.
type ConfigError struct{ Fields []FieldError }

func (e *ConfigError) Error() string { return e.Message().String() }

// Message is what people are told.
func (e *ConfigError) Message() message.Message {
	texts := make([]message.Message, len(e.Fields))
	for i, f := range e.Fields {
		texts[i] = f.Text
	}
	return message.Then(texts...)
}
