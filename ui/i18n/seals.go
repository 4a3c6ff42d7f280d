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

// Authority names a certificate's subject in one line.
func Authority(c *x509.Certificate) string {
	return message.OneLine(cmp.Or(c.Subject.CommonName, strings.Join(c.Subject.Organization, " "), c.Subject.String()), office.MaxName)
}

// Relying explains what trusting the certificates' subjects means, and what to compare first. At most most are listed.
func Relying(all []*x509.Certificate, most int) string {
	if len(all) == 1 {
		return lang.L("Countersign will then rely on every document that “{{.Name}}” vouches for. Compare this fingerprint with the one that your signing service publishes: {{.Fingerprint}}",
			V{"Name": Authority(all[0]), "Fingerprint": fingerprint(all[0])})
	}
	return lang.L("Countersign will then rely on every document that they vouch for. Add only what you got from your signing service or an authority itself.") +
		"\n\n" + Authorities(all, most, fingerprint)
}

// Authorities lists the certificates' subjects, each with what also says of it.
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

// SealWord sums up a seal's check in a few words; empty for none. A fault is described in full.
func SealWord(s office.Seal) string {
	switch s.State {
	case "", office.SealNone:
		return ""
	case office.SealIntact:
		return lang.L("Sealed by “{{.Signer}}”", V{"Signer": s.Signer})
	case office.SealStranger:
		return lang.L("Sealed by “{{.Signer}}”, who is not known here", V{"Signer": s.Signer})
	}
	return Message(s.Text())
}

// MatchWord sums up how a document compares with what was sent; empty if not compared.
func MatchWord(m office.Match) string {
	switch m.State {
	case office.MatchSame:
		return lang.L("As sent")
	case office.MatchAdded:
		return lang.L("As sent, with signatures")
	case office.MatchRemade:
		return lang.L("Looks like what was sent")
	}
	return Message(m.Text())
}
