package sandbox

import (
	"errors"
	"net/http"
	"net/url"

	bolt "go.etcd.io/bbolt"
)

// endpointView is the endpoint record of interface.md.
type endpointView struct {
	EventEndpointID string `json:"eventEndpointId"`
	Name            string `json:"name"`
	URL             string `json:"url"`
	Secret          string `json:"secret"`
}

func (e endpoint) view() endpointView {
	return endpointView{e.EventEndpointID, e.Name, e.URL, e.Secret}
}

// setEndpoint is POST /events/endpoints/set. It replaces the endpoint of the calling client, with a fresh secret
// every time, and names it after the client whatever name is asked for.
func (s *Server) setEndpoint(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	if !who.can("organization") || !who.Admin {
		return nil, forbidden("event_endpoint_not_authorized",
			"Setting the endpoint needs the organization scope and an Organization Administrator.")
	}
	var body struct {
		URL    string `json:"url"`
		Delete bool   `json:"delete"`
	}
	if err := readJSON(w, r, "event_endpoint", &body); err != nil {
		return nil, err
	}
	var e endpoint
	var err error
	if body.Delete {
		e, err = s.deleteEndpoint(who.OrganizationID, who.ClientID)
	} else if !usableEndpoint(body.URL) {
		err = badRequest("event_endpoint_invalid_url", "The url must be a complete HTTPS address.")
	} else {
		e, err = s.replaceEndpoint(who.OrganizationID, who.ClientID, body.URL)
	}
	if err != nil {
		return nil, err
	}
	return map[string]endpointView{"endpoint": e.view()}, nil
}

func usableEndpoint(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.Fragment == "" && len(address) <= 2048
}

// replaceEndpoint registers url for a client. Setting the same url again updates the record; another url makes a new one.
func (s *Server) replaceEndpoint(organizationID, clientID, address string) (endpoint, error) {
	c, _ := s.client(clientID)
	e := endpoint{
		EventEndpointID: newID(), OrganizationID: organizationID, ClientID: clientID,
		Name: c.Name, URL: address, Secret: newToken(), TimeSet: s.opt.Now(),
	}
	key := endpointKey(organizationID, clientID)
	err := s.db.Update(func(tx *bolt.Tx) error {
		before, err := get[endpoint](tx, bucketEndpoints, key)
		if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
		if before.URL == address {
			e.EventEndpointID = before.EventEndpointID
		}
		return put(tx, bucketEndpoints, key, e)
	})
	return e, err
}

// deleteEndpoint removes what is registered for a client, whatever its address is.
func (s *Server) deleteEndpoint(organizationID, clientID string) (endpoint, error) {
	var e endpoint
	key := endpointKey(organizationID, clientID)
	err := s.db.Update(func(tx *bolt.Tx) (err error) {
		e, err = get[endpoint](tx, bucketEndpoints, key)
		if errors.Is(err, errNotFound) {
			return notFound("event_endpoint")
		}
		if err != nil {
			return err
		}
		return remove(tx, bucketEndpoints, key)
	})
	return e, err
}

// organizationInfo is /organizations/info: the organization and, with the organization scope, all its members.
func (s *Server) organizationInfo(_ http.ResponseWriter, _ *http.Request, who caller) (any, error) {
	if !who.canUsePackages() {
		return nil, forbidden("organization_not_authorized", "The organization or member scope is needed.")
	}
	type member struct {
		MemberID  string `json:"memberId"`
		Email     string `json:"email"`
		FirstName string `json:"firstName"`
		LastName  string `json:"lastName"`
		IsAdmin   bool   `json:"isAdmin"`
	}
	members := []member{}
	for _, u := range s.opt.Users {
		if u.OrganizationID == who.OrganizationID && (who.can("organization") || u.MemberID == who.MemberID) {
			members = append(members, member{u.MemberID, u.Email, u.FirstName, u.LastName, u.Admin})
		}
	}
	return map[string]any{"organizationId": who.OrganizationID, "name": "Demo Office", "members": members}, nil
}
