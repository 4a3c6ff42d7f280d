package i18n

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"strings"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/message"
	"countersign/internal/office"
)

// Authority is whom a certificate names, in one line.
func Authority(c *x509.Certificate) string {
	return message.OneLine(cmp.Or(c.Subject.CommonName, strings.Join(c.Subject.Organization, " "), c.Subject.String()), office.MaxName)
}

// Relying says what it means to trust those whom certificates name, and what to compare before. most are listed one by one.
func Relying(all []*x509.Certificate, most int) string {
	if len(all) == 1 {
		return lang.L("Countersign will then rely on every document that “{{.Name}}” vouches for. Compare this fingerprint with the one that your signing service publishes: {{.Fingerprint}}",
			V{"Name": Authority(all[0]), "Fingerprint": fingerprint(all[0])})
	}
	return lang.L("Countersign will then rely on every document that they vouch for. Add only what you got from your signing service or an authority itself.") +
		"\n\n" + Authorities(all, most, fingerprint)
}

// Authorities lists those whom certificates name, each with what is to be said of it, if anything.
func Authorities(all []*x509.Certificate, most int, also func(*x509.Certificate) string) string {
	var lines []string
	for _, c := range all[:min(len(all), most)] {
		lines = append(lines, Authority(c))
		if also != nil {
			lines = append(lines, also(c))
		}
	}
	if more := len(all) - most; more > 0 {
		lines = append(lines, lang.N("and {{.PluralCount}} more", more))
	}
	return strings.Join(lines, "\n")
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}
