package announce

import (
	"path/filepath"
	"testing"

	"countersign/internal/office"
)

func TestSavedFilesAreNamedWhereTheyAreWhatWasSignedFirst(t *testing.T) {
	job := func(kind office.FileKind, target string) office.Job {
		return office.Job{Kind: kind, Folder: "/office/Signed", Target: target, State: office.JobDone}
	}
	p := office.Package{ID: "p", Name: "Lease"}
	for want, jobs := range map[string][]office.Job{
		"Saved in Signed/Lease: Lease - signed.pdf, Lease - certificate.pdf, master file.pdf.": {
			job(office.FileMaster, "Lease/master file.pdf"), job(office.FileCertificate, "Lease/Lease - certificate.pdf"), job(office.FileSigned, "Lease/Lease - signed.pdf")},
		"“Lease.pdf” saved in Signed.":                        {job(office.FileSigned, "Lease.pdf")},
		"Saved in Signed: Lease.pdf, master file.pdf.":        {job(office.FileMaster, "2026/master file.pdf"), job(office.FileSigned, "Lease/Lease.pdf")},
		"Saved in Signed/2026/Lease: Lease.pdf, Mandate.pdf.": {job(office.FileSigned, "2026/Lease/Lease.pdf"), job(office.FileSigned, "2026/Lease/Mandate.pdf")},
	} {
		if got := savedFact(p, jobs).Body.String(); got != filepath.FromSlash(want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Who signs alone is not the last of several, nor everyone.
func TestTheOneSignerOfAPackageSignedAndNothingElseIsSaid(t *testing.T) {
	ana, jan := office.Signer{ID: "ana", FirstName: "Ana", LastName: "Ruiz"}, office.Signer{ID: "jan", FirstName: "Jan", LastName: "Weber"}
	for _, c := range []struct {
		signers []office.Signer
		want    []string
	}{
		{[]office.Signer{ana}, []string{"Ana Ruiz signed “Lease”.", "Everyone has signed “Lease”. Ana Ruiz signed. 2 files saved in Signed."}},
		{[]office.Signer{jan, ana}, []string{"Ana Ruiz signed “Lease”. Everyone has signed.", "Everyone has signed “Lease”. Ana Ruiz signed last. 2 files saved in Signed."}},
	} {
		p := office.Package{ID: "p", Name: "Lease", State: office.PackageExecuted, Sequential: true, Signers: c.signers,
			Documents: []office.Document{{ID: "d", SignedBy: []string{"jan", "ana"}}}}
		f := signedFact(p, office.Signature{DocumentID: "d", SignerID: "ana"}, p.LastSigner())
		f.Latest = true
		saved := savedOf("Lease")
		saved.PackageID = p.ID
		for i, facts := range [][]office.Fact{{f}, {f, saved}} {
			var m digest
			m.add(noon, facts...)
			if got := texts(m.take(noon, true)); len(got) != 1 || got[0] != c.want[i] {
				t.Errorf("%d of %d signers: told %q, want %q", i, len(c.signers), got, c.want[i])
			}
		}
	}
}
