package download

import (
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/archive"
)

func TestAFolderThatOpensButTakesNoFileIsInTroubleAllTheTime(t *testing.T) {
	const folder = "/proc/tty" // may be written by root, but takes no file, like a folder on Windows without permission
	f, err := archive.OpenFolder(folder)
	if err != nil {
		t.Skip("only root may: ", err)
	}
	f.Close()
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.settings.SaveTo = folder
		g := &giver{}
		defer x.from(g)()
		began := x.Now()
		x.plan("p")
		x.Wake()
		time.Sleep(time.Hour)
		synctest.Wait()
		if told := x.Health.List(); len(told) != 1 || told[0].ID != health.FolderFails.ID || !told[0].Since.Equal(began) || x.Flowing() {
			t.Errorf("told: %+v, flowing %v", told, x.Flowing())
		}
		if n := g.times("p"); n != 1 {
			t.Errorf("%d downloads of what could not be saved", n)
		}
	})
}
