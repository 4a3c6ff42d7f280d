package officetest

import "countersign/internal/office"

// Templates are those of an ordinary office.
func Templates() []office.Template {
	return []office.Template{
		{ID: "t-lease", Name: "Lease agreement", Description: "A flat, with the house rules", Message: "Read both, then sign.", Sequential: true,
			Documents: []office.TemplateDocument{
				{ID: "d-1", Name: "Lease agreement", Fields: []office.TemplateField{{ID: "address", Name: "Address of the flat"},
					{ID: "rent", Name: "Monthly rent", Value: "900"}, {ID: "special", Name: "Special agreements", Multiline: true}}},
				{ID: "d-2", Name: "House rules"}},
			Roles:  []office.TemplateRole{{ID: "s-1", Role: "Landlord"}, {ID: "s-2", Role: "Tenant"}},
			Copies: []office.TemplateRole{{ID: "r-1", Role: "Records", FirstName: "Rita", LastName: "Records", Email: "records@example.com"}}},
		{ID: "t-mandate", Name: "Engagement letter", Description: "For new clients",
			Documents: []office.TemplateDocument{{ID: "d-3", Name: "Engagement letter"}},
			Roles: []office.TemplateRole{{ID: "s-3", Role: "Client"},
				{ID: "s-4", Role: "Lawyer", FirstName: "Laura", LastName: "Lawyer", Email: "laura@example.com"}}},
		{ID: "t-nda", Name: "Non-disclosure agreement", Documents: []office.TemplateDocument{},
			Roles: []office.TemplateRole{{ID: "s-5", Role: "Party"}, {ID: "s-6", Role: "Party"}}},
	}
}
