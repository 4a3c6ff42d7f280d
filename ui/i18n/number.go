package i18n

import (
	"fyne.io/fyne/v2/lang"
	"golang.org/x/text/language"
	numbers "golang.org/x/text/message"
)

// Number is a whole number with its thousands kept apart as the language does: "50,000", "50.000".
func Number(n int) string { return numberPrinter().Sprintf("%d", n) }

// Size is a file's size: "840 KB", "2.4 MB", "2,4 Mo".
func Size(bytes int64) string {
	switch {
	case bytes < 1000:
		return lang.L("{{.N}} B", V{"N": bytes})
	case bytes < 1_000_000:
		return lang.L("{{.N}} KB", V{"N": bytes / 1000})
	case bytes < 1_000_000_000:
		return lang.L("{{.N}} MB", V{"N": numberPrinter().Sprintf("%.1f", float64(bytes)/1e6)})
	default:
		return lang.L("{{.N}} GB", V{"N": numberPrinter().Sprintf("%.1f", float64(bytes)/1e9)})
	}
}

// numberPrinter writes numbers as the language does.
func numberPrinter() *numbers.Printer {
	if c := chosen.Load(); c != nil {
		return c.numbers
	}
	return numbers.NewPrinter(language.English)
}
