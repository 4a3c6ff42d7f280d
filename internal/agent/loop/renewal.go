package loop

import (
	"errors"

	"countersign/internal/esign"
)

// RenewalError marks what went wrong while the sign-in was renewed for a call, so that it is not taken for the service's word about what
// was asked.
type RenewalError struct{ Err error }

func (e *RenewalError) Error() string { return e.Err.Error() }
func (e *RenewalError) Unwrap() error { return e.Err }

// ConcernsAll reports whether a failed call says nothing about its object: the sign-in could not be renewed, or the
// call was never made.
func ConcernsAll(err error) bool {
	var renewal *RenewalError
	var e *esign.Error
	return errors.As(err, &renewal) || !errors.As(err, &e) ||
		e.Kind == esign.BadClient || e.Kind == esign.NotKept || e.Kind == esign.Interrupted
}
