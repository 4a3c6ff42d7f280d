package agent

import (
	"context"

	"countersign/internal/office"
)

// Templates is templates.Room.List.
func (a *Agent) Templates(ctx context.Context, search string) ([]office.Template, error) {
	return a.templates.List(ctx, search)
}

// UsedTemplates is templates.Room.Used.
func (a *Agent) UsedTemplates(limit int) ([]office.UsedTemplate, error) {
	return a.templates.Used(limit)
}

// TemplatesOffered is templates.Room.Offered.
func (a *Agent) TemplatesOffered() bool { return a.templates.Offered() }
