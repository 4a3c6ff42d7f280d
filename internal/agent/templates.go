package agent

import (
	"context"

	"countersign/internal/office"
)

// Templates is templates.Service.List.
func (a *Agent) Templates(ctx context.Context, search string) ([]office.Template, error) {
	return a.templates.List(ctx, search)
}

// UsedTemplates is templates.Service.Used.
func (a *Agent) UsedTemplates(limit int) ([]office.UsedTemplate, error) {
	return a.templates.Used(limit)
}

// TemplatesOffered is templates.Service.Offered.
func (a *Agent) TemplatesOffered() bool { return a.templates.Offered() }
