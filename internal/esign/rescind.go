package esign

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"countersign/internal/message"
)

// Rescind withdraws a package that was sent (service-facts.md, 7, POST /packages/rescind); words are for its people, whom the
// service notifies if notify is set. nil means that the service says so. After an error that is ErrOutcomeUnknown it may be
// withdrawn, which its status tells; any other means that this call did not withdraw it. See NotServed, too.
func (c *Client) Rescind(ctx context.Context, packageID, words string, notify bool) error {
	k := &call{
		op: "withdrawing package " + cleanMessage(packageID), route: "packages/rescind", method: http.MethodPost, path: "/packages/rescind",
		redirect: redirectNowhere, // it may be done already
	}
	if _, err := id(k.op, message.PackageIDUnusable(), packageID); err != nil {
		return err
	}
	err := k.jsonBody(struct {
		PackageID      string `json:"packageId"`
		RescindMessage string `json:"rescindMessage"`
		Notify         bool   `json:"notify"`
	}{packageID, words, notify})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	body, err := c.answer(ctx, k)
	if NotServed(err) {
		return err
	}
	if err != nil {
		return outcome(err)
	}
	var said struct {
		PackageID text `json:"packageId"`
	}
	if json.Unmarshal(body, &said) != nil || !strings.EqualFold(string(said.PackageID), packageID) {
		return outcome(k.unreadable())
	}
	return nil
}
