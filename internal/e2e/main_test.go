//go:build linux

package e2e

import (
	"testing"

	"countersign/internal/e2e/harness"

	"github.com/pdfcpu/pdfcpu/pkg/api"
)

func TestMain(m *testing.M) {
	api.DisableConfigDir()
	harness.RunTests(m, harness.Suffered.Report)
}
