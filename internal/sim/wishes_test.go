package sim

import (
	"slices"
	"time"

	"countersign/internal/office"
)

// wish is something that people may want, according to the settings.
type wish string

const (
	wishNews         wish = "news"
	wishSignatures   wish = "signatures"
	wishCertificates wish = "certificates"
	wishMasters      wish = "master files"
	wishIndex        wish = "index"
)

// wishes are what people want, and since when: it does not concern what happened before.
type wishes struct {
	m      *model
	wanted map[wish]time.Time
}

// never is later than everything.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// lookAtWishes records since when people want what. It does not concern what happened before.
func (x *wishes) lookAtWishes() {
	s := x.m.w.settings
	for what, wanted := range map[wish]bool{
		wishNews: s.Notify != office.NotifyNone, wishSignatures: s.Notify == office.NotifyEach,
		wishCertificates: s.SaveCAC, wishMasters: s.SaveMaster, wishIndex: s.Index,
	} {
		if !wanted {
			x.wanted[what] = never
		} else if x.wants(what) == never {
			x.wanted[what] = x.m.w.now()
		}
	}
}

// wants is since when people have wanted it without interruption.
func (x *wishes) wants(what wish) time.Time {
	if since, known := x.wanted[what]; known {
		return since
	}
	return never
}

// owedFiles are the documents of a package that people must find in a folder.
func (x *wishes) owedFiles(e executed) []string {
	owed := slices.Clone(e.documents)
	if e.at.After(x.wants(wishCertificates)) {
		owed = append(owed, e.certificates...)
	}
	if e.at.After(x.wants(wishMasters)) {
		owed = append(owed, e.master)
	}
	return owed
}
