package sandbox

import (
	"time"

	bolt "go.etcd.io/bbolt"
)

// keyTemplates marks a state that was given the sample templates, so that one that was deleted stays away.
const keyTemplates = "templates"

// sampleTemplates are what every organization begins with. Their ids are the same each time.
func sampleTemplates(u User) []Template {
	id := func(what string) string { return derivedID("template:" + u.OrganizationID + ":" + what) }
	return []Template{
		{
			ID: id("lease"), Name: "Lease agreement", Description: "A flat, with the house rules", PackageType: typeSequential,
			Message: "Read the lease and the house rules, then sign both.",
			Documents: []TemplateDocument{
				{ID: id("lease/1"), Name: "Lease agreement", Text: "The landlord lets the flat named here to the tenant.", Fields: []TemplateField{
					{DataID: "address", Label: "Address of the flat"}, {DataID: "rent", Label: "Monthly rent"},
					{DataID: "special", Label: "Special agreements", Multiline: true}}},
				{ID: id("lease/2"), Name: "House rules", Text: "Quiet hours are from 10 pm to 6 am."},
			},
			Signers:    []TemplatePerson{{ID: id("lease/landlord"), Role: "Landlord"}, {ID: id("lease/tenant"), Role: "Tenant"}},
			Recipients: []TemplatePerson{{ID: id("lease/records"), Role: "Records", FirstName: "Rita", LastName: "Records", Email: "records@example.com", Type: "CC"}},
		},
		{
			ID: id("mandate"), Name: "Engagement letter", Description: "For new clients",
			Documents: []TemplateDocument{
				{ID: id("mandate/1"), Name: "Engagement letter", Text: "The client engages the lawyer in the matter named here.", Fields: []TemplateField{
					{DataID: "matter", Label: "Matter"}, {DataID: "fee", Label: "Fee"}}},
				{ID: id("mandate/2"), Name: "Privacy notice", Text: "What is kept about the client, and for how long."},
			},
			Signers: []TemplatePerson{
				{ID: id("mandate/client"), Role: "Client"},
				{ID: id("mandate/lawyer"), Role: "Lawyer", FirstName: "Laura", LastName: "Lawyer", Email: "laura.lawyer@example.com"}},
		},
		{
			ID: id("nda"), Name: "Non-disclosure agreement", Description: "Mutual",
			Documents: []TemplateDocument{{ID: id("nda/1"), Name: "Non-disclosure agreement", Text: "Both parties keep to themselves what they learn of each other.",
				Fields: []TemplateField{{DataID: "purpose", Label: "Purpose", Multiline: true}}}},
			Signers: []TemplatePerson{{ID: id("nda/1st"), Role: "Party"}, {ID: id("nda/2nd"), Role: "Party"}}, // one role, two people
		},
	}
}

// addSamples gives each organization the sample templates, once.
func (s *Server) addSamples() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		done := map[string]time.Time{}
		if raw, err := get[map[string]time.Time](tx, bucketKeys, keyTemplates); err == nil {
			done = raw
		}
		known := len(done)
		for _, u := range s.opt.Users {
			if _, given := done[u.OrganizationID]; given {
				continue
			}
			done[u.OrganizationID] = s.opt.Now()
			for _, t := range sampleTemplates(u) {
				if err := put(tx, bucketTemplates, t.ID, t.stored(u, s.opt.Now())); err != nil {
					return err
				}
			}
		}
		if len(done) == known {
			return nil
		}
		return put(tx, bucketKeys, keyTemplates, done)
	})
}
