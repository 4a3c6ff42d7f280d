package proxy

import (
	"context"
	"net/url"
)

// alone serializes questions to a system API that takes no context, and waits for each answer as long as ctx allows. If a
// call gets no answer in time, it reports that a script could not be run. Without this, a script that never ends would be
// started again with each question, each time using up another thread and a processor for good.
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
