package loop

import (
	"context"
	"time"
)

// Daily does do at once and then on each new day (UTC), until ctx ends. It looks at the date once an hour, which costs no disk.
func (t Base) Daily(ctx context.Context, do func(context.Context) error) error {
	for last := ""; ; {
		if today := t.Now().UTC().Format(time.DateOnly); today != last {
			if err := do(ctx); err != nil {
				return err
			}
			last = today
		}
		if !Sleep(ctx, time.Hour) {
			return nil
		}
	}
}
