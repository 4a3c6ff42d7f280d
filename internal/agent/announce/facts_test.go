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
