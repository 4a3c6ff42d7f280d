package message

import (
	"errors"
	"strings"
)

// Error is an error that people see as m. Its cause may be nil. Its own text is m in English followed by the cause: for the
// log, never for people.
func Error(m Message, cause error) error { return &told{m, cause} }

type told struct {
	message Message
	cause   error
}

func (e *told) Error() string {
	if e.cause == nil {
		return e.message.String()
	}
	if m, ok := Of(e.cause); ok && m == e.message {
		return e.cause.Error()
	}
	return e.message.String() + " (" + e.cause.Error() + ")"
}

func (e *told) Unwrap() error    { return e.cause }
func (e *told) Message() Message { return e.message }

// Of returns the message for people of err: that of the outermost error in its chain with a method Message() Message. Code
// that knows better what the person was doing wraps the error in one with its own message.
func Of(err error) (m Message, ok bool) {
	var e interface{ Message() Message }
	if !errors.As(err, &e) {
		return Message{}, false
	}
	return e.Message(), true
}

// For is Of, with Unexpected if err has no message. It is empty for nil.
func For(err error) Message {
	if err == nil {
		return Message{}
	}
	if m, ok := Of(err); ok {
		return m
	}
	return Unexpected()
}

// SameCause reports whether a and b say the same, or both that there may be no internet connection.
func SameCause(a, b Message) bool { return a == b || offline(a) && offline(b) }

func offline(m Message) bool {
	_, check := English().Lines(ServiceSilent())
	_, next := English().Lines(m)
	return strings.HasPrefix(next, check)
}
