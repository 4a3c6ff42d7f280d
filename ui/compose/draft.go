package compose

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/i18n"
)

// proposedName makes a package name of a file's: no ending, no underscores.
func proposedName(path string) string {
	name := filepath.Base(path)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	return strings.Join(strings.Fields(strings.ReplaceAll(name, "_", " ")), " ")
}

// externalData carries a reference, which Package.Reference reads.
func externalData(reference string) json.RawMessage {
	if reference == "" {
		return nil
	}
	data, err := json.Marshal(map[string]string{"reference": reference})
	if err != nil {
		return nil // a map of strings always has its JSON
	}
	return data
}

// referenceIn is the reference that external data carries, empty for none.
func referenceIn(data json.RawMessage) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(data, &members) != nil || json.Unmarshal(members["reference"], &text) != nil {
		return ""
	}
	return text
}

// promise is the button's text: what pressing it will do.
func promise(documents int, signers []office.Signer, each bool) string {
	if documents == 0 || len(signers) == 0 {
		return lang.L("Send")
	}
	if each {
		return lang.L("Send {{.Packages}} to {{.People}}", i18n.V{"Packages": packages(documents), "People": i18n.People(len(signers))})
	}
	return lang.L("Send {{.Documents}} to {{.People}}", i18n.V{"Documents": i18n.Documents(documents), "People": i18n.People(len(signers))})
}

// stage says in words where sending is; sent and total are bytes.
func stage(adding bool, sent, total int64) string {
	switch {
	case adding:
		return lang.L("Sending the package…")
	case total > 0:
		return fmt.Sprintf("%s %s / %s", lang.L("Uploading…"), i18n.Size(sent), i18n.Size(total))
	}
	return lang.L("Preparing…")
}

// parts is how much of each of a draft's files is on the service, from 0 to 1. The outbox uploads them one after the
// other, in their order.
func parts(s office.SendState, sizes []int64) []float64 {
	list := make([]float64, len(sizes))
	left := s.Sent
	if s.State == office.DraftAdding || s.State == office.DraftSent {
		left = s.Total
	}
	for i, size := range sizes {
		if size > 0 {
			list[i] = float64(min(left, size)) / float64(size)
		}
		left = max(0, left-size)
	}
	return list
}

// packages is "1 package", "2 packages"; pages the same for pages.
func packages(n int) string { return lang.N("{{.PluralCount}} packages", n) }

func pages(n int) string { return lang.N("{{.PluralCount}} pages", n) }
