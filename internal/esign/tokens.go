package esign

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Tokens are what the token endpoint hands out (interface.md, "Token response"). They print as nothing.
type Tokens struct {
	Access  string    // "" when the service sent none that can be used; Refresh is worth keeping all the same
	Refresh string    // "" without the offline_access scope
	Issued  time.Time // when the answer came; zero is taken for now
	Expiry  time.Time // of Access
}

// String tells until when, and no token.
func (t Tokens) String() string {
	return fmt.Sprintf("esign.Tokens{until %s}", t.Expiry.Format(time.RFC3339))
}

// GoString is String.
func (t Tokens) GoString() string { return t.String() }

// LogValue is String.
func (t Tokens) LogValue() slog.Value { return slog.StringValue(t.String()) }

// Vault keeps the refresh token. A Session calls it from one goroutine at a time. Its errors must not quote the token.
type Vault interface {
	// Refresh returns the kept token, "" when there is none. An error means that it is not known whether there is.
	Refresh(ctx context.Context) (string, error)
	// SetRefresh keeps token in place of the one before; "" forgets. When it returns nil, the token is on disk.
	SetRefresh(ctx context.Context, token string) error
}

// usable is true while the access token may be handed out: until shortly before its end when it can be renewed. One that
// came in the future came by a clock that was wrong, and nobody knows how long it still lives.
func (t Tokens) usable(now time.Time) bool {
	skew := min(refreshSkew, t.Expiry.Sub(t.Issued)/10)
	return t.Access != "" && now.Before(t.Expiry.Add(-skew)) && !now.Before(t.Issued.Add(-refreshSkew))
}
