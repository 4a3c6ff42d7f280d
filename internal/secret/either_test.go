package secret

import (
	"context"
	"errors"
	"testing"
)

// out is a place that cannot be looked into.
type out struct{}

func (out) Load(context.Context) (Key, error) { return Key{}, &UnavailableError{Reason: Locked} }

func (out) Create(context.Context) (Key, error) { return Key{}, &UnavailableError{Reason: Locked} }

func TestAKeyStaysValidWhenItsPlaceGetsANewName(t *testing.T) {
	place, former := Memory(), Memory()
	k, err := former.Create(t.Context())
	must(t, err)
	e := Either(place, former)
	if got, err := e.Load(t.Context()); got != k || err != nil {
		t.Errorf("the key of before is not found: %v", err)
	}
	if _, err := e.Create(t.Context()); !errors.Is(err, ErrPresent) {
		t.Errorf("a second key is made: %v", err)
	}
	if _, err := place.Load(t.Context()); !errors.Is(err, ErrAbsent) {
		t.Error("the new place was written to")
	}
}

func TestAKeyIsMadeInTheNewPlaceAlone(t *testing.T) {
	place, former := Memory(), Memory()
	e := Either(place, former)
	if _, err := e.Load(t.Context()); !errors.Is(err, ErrAbsent) {
		t.Error(err)
	}
	k, err := e.Create(t.Context())
	must(t, err)
	if got, err := place.Load(t.Context()); got != k || err != nil {
		t.Errorf("it is not in the new place: %v", err)
	}
	if _, err := former.Load(t.Context()); !errors.Is(err, ErrAbsent) {
		t.Error("it is in the former place")
	}
}

func TestAPlaceThatIsLockedIsNotEmpty(t *testing.T) {
	for _, e := range []Keeper{Either(Memory(), out{}), Either(out{}, Memory())} {
		if _, err := e.Load(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("Load: %v", err)
		}
		if _, err := e.Create(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("Create: %v", err)
		}
	}
}
