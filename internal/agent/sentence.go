package agent

import (
	"context"
	"errors"

	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/store"
)

// Sentence is err as one sentence for people: what happened and what to do, without a chain of causes and without
// anything secret.
func Sentence(err error) string {
	var signIn *SignInError
	var draft *DraftError
	var config *ConfigError
	var service *esign.Error
	var told interface{ Sentence() string }
	m, isMessage := message.Of(err)
	switch {
	case err == nil:
		return ""
	case isMessage:
		return m.String()
	case errors.As(err, &signIn):
		return signIn.Text
	case errors.As(err, &draft):
		return draft.Text
	case errors.As(err, &config):
		return config.Error()
	case errors.Is(err, errLocked):
		return keySentence(err)
	case errors.As(err, &service):
		return esign.Sentence(err)
	case errors.As(err, &told):
		return told.Sentence()
	case errors.Is(err, store.ErrInUse), errors.Is(err, store.ErrNewer), errors.Is(err, store.ErrCorrupt):
		return store.Sentence(err)
	case errors.Is(err, context.Canceled):
		return "Stopped before it was done."
	default:
		return esign.Sentence(err)
	}
}
