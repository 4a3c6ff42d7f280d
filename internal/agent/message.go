package agent

import (
	"context"
	"errors"

	"countersign/internal/agent/account"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/store"
)

// Message is what people are told of err: what happened and what to do, without a chain of causes and without anything
// secret.
func Message(err error) message.Message {
	if err == nil {
		return message.Message{}
	}
	if errors.Is(err, account.ErrLocked) {
		return account.KeyMessage(err)
	}
	if m, ok := message.Of(err); ok {
		return m
	}
	switch {
	case errors.Is(err, store.ErrInUse), errors.Is(err, store.ErrNewer):
		return store.Message(err)
	case errors.Is(err, context.Canceled):
		return message.Stopped()
	default:
		return esign.Message(err)
	}
}
