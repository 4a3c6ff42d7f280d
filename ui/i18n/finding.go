package i18n

import (
	"countersign/internal/office"
)

// Findings are what is wrong with settings, a sentence per field.
func Findings(found []office.FieldError) map[string]string {
	said := map[string]string{}
	for _, f := range found {
		if said[f.Field] == "" {
			said[f.Field] = Message(f.Text)
			if f.Field == office.FieldTemplate {
				said[f.Field] = Pattern(said[f.Field])
			}
		}
	}
	return said
}
