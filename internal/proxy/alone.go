package proxy

import (
	"context"
	"net/url"
)

// alone asks a system that takes no context one question at a time, and waits for each answer as long as ctx says. Who gets none
// learns that a script could not be run: one that never ends would otherwise be begun again with each question, and every time
// take another thread, and a processor with it, for good.
func alone(ask func(to *url.URL) (Answer, error)) func(ctx context.Context, to *url.URL) (Answer, error) {
	type result struct {
		Answer
		err error
	}
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, to *url.URL) (Answer, error) {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return Answer{Source: Unread}, ctx.Err()
		}
		done := make(chan result, 1)
		go func() {
			defer func() { <-turn }()
			answer, err := ask(to)
			done <- result{answer, err}
		}()
		select {
		case r := <-done:
			return r.Answer, r.err
		case <-ctx.Done():
			return Answer{Source: Unread}, ctx.Err()
		}
	}
}
