package secret

import (
	"context"
	"errors"
)

// Either returns a Keeper for a key that has a new place, or still its former one. It makes a key in the new place, and
// only when there is certainly none in the former one.
func Either(place, former Keeper) Keeper { return either{place, former} }

type either struct{ place, former Keeper }

func (e either) Load(ctx context.Context) (Key, error) {
	if k, err := e.place.Load(ctx); !errors.Is(err, ErrAbsent) {
		return k, err
	}
	return e.former.Load(ctx)
}

func (e either) Create(ctx context.Context) (Key, error) {
	switch _, err := e.former.Load(ctx); {
	case err == nil:
		return Key{}, ErrPresent
	case !errors.Is(err, ErrAbsent):
		return Key{}, err
	}
	return e.place.Create(ctx)
}
