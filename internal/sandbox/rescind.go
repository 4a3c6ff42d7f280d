package sandbox

import (
	"crypto/hmac"
	"errors"
	"net/http"
	"strings"
	"time"
)

// rescindPackage is POST /packages/rescind: a package that was sent is withdrawn.
func (s *Server) rescindPackage(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	var body struct {
		PackageID      string `json:"packageId"`
		RescindMessage string `json:"rescindMessage"`
		Notify         bool   `json:"notify"`
	}
	if err := readJSON(w, r, "package", &body); err != nil {
		return nil, err
	}
	return s.changeState(body.PackageID, who, rescind(body.RescindMessage, body.Notify))
}

// Rescind withdraws a package, as its sender does on the service's own pages. notify tells its people.
func (s *Server) Rescind(packageID, message string, notify bool) error {
	return s.changePack(packageID, rescind(message, notify))
}

// rescind is the change. What event the service sends, if any, is not documented: this one is named as its others are.
func rescind(message string, notify bool) func(*pack, time.Time) ([]event, error) {
	return func(p *pack, now time.Time) ([]event, error) {
		if state := p.stateAt(now); state != stateOpen && state != stateExpired {
			return nil, badRequest("package_invalid_state", "Only a package that was sent and is not executed can be withdrawn.")
		}
		p.State, p.RescindMessage, p.TimeRescinded = stateRescinded, message, &now
		if notify {
			p.Notified = append(p.Notified, stateRescinded)
		}
		return packageEvents(p, []string{actionRescinded}, now), nil
	}
}

// withdrawChoice is POST /packages/{packageId}/withdraw: the sender's press on the page.
func (s *Server) withdrawChoice(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("packageId")
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if !hmac.Equal([]byte(r.PostFormValue("form")), []byte(s.formToken(id))) {
		s.showProblem(w, http.StatusForbidden, "The form was not sent from this page.", "Go back and try once more.")
		return
	}
	err := s.Rescind(id, strings.TrimSpace(r.PostFormValue("message")), r.PostFormValue("notify") != "")
	var known *apiError
	switch {
	case errors.As(err, &known):
		s.showProblem(w, known.Status, "The package was not withdrawn.", known.Message)
	case err != nil:
		s.showFailure(w, err)
	default:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}
