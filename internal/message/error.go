package message

import "errors"

// Error is an error that reaches a person as m, because of cause, which may be nil. Its own text is English with the
// cause behind it: for the log, never for people.
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

// Of is what people are told of err: the message of the outermost error in its chain that has one, which is one with a
// method Message() Message. Whoever knows better what people were doing wraps the error in one with its own.
func Of(err error) (m Message, ok bool) {
	var e interface{ Message() Message }
	if !errors.As(err, &e) {
		return Message{}, false
	}
	return e.Message(), true
}

// For is Of, and Unexpected where nobody said what to tell people. For nil it is nothing.
func For(err error) Message {
	if err == nil {
		return Message{}
	}
	if m, ok := Of(err); ok {
		return m
	}
	return Unexpected()
}
