package esign

import (
	"context"
	"net/http"
)

// probeRoute is a call that only reads. Without a token nobody learns anything from it but that it is there.
const probeRoute = "/organizations/info"

// Answers reports whether the API answers at the service address: it asks without a token, under both forms of the path,
// and takes being turned away for a yes. A page, a redirect or a "not found" is what any other web server gives; that is a
// BadAnswer. What else is wrong is an *Error too.
func (c Config) Answers(ctx context.Context) error {
	const op = "looking for the API"
	var last error
	for _, form := range []pathForm{prefixed, bare} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.apiRoot()+form.prefix()+probeRoute, nil)
		if err != nil {
			return &Error{Op: op, Kind: BadAnswer, err: err}
		}
		req.Header.Set("Accept", "application/json")
		res, err := c.httpClient(redirectNowhere).Do(req)
		if err != nil {
			return noAnswer(op, err)
		}
		page := isPage(res)
		res.Body.Close()
		switch {
		case res.StatusCode >= http.StatusInternalServerError:
			return &Error{Op: op, Kind: Server, Status: res.StatusCode}
		case res.StatusCode == http.StatusNotFound, res.StatusCode/100 == 3, (res.StatusCode/100 == 2 || res.StatusCode == http.StatusForbidden) && page:
			last = &Error{Op: op, Kind: BadAnswer, Status: res.StatusCode}
		default:
			return nil
		}
	}
	return last
}
