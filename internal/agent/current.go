package agent

import (
	"errors"

	"countersign/internal/office"
)

// current is what is set up and who is signed in, all of one moment.
type current struct {
	settings office.Settings
	account  account
	service  *service // as settings describe it; nil while there is none, or its client secret is out of reach
}

// signedIn reports whether somebody is signed in and the service has not ended it, though the keys may be locked.
func (o current) signedIn() bool {
	return o.account.SignedIn && !(o.service != nil && o.service.session.Ended())
}

// errUnchanged is returned where current is to stay as it is.
var errUnchanged = errors.New("there is nothing to change")
