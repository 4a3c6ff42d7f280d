package desks

import (
	"strings"
	"testing"

	"countersign/internal/desk"
	"countersign/internal/office"
)

// What a hub says of its desks is let in should this computer take its place: one key that is none would keep it from being the hub.
func TestOnlyWhatCanBeADeskIsKept(t *testing.T) {
	_, key, err := desk.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	list := members(desk.Answer{Desks: []desk.Member{
		{Name: "\x1b[2J" + strings.Repeat("x", 1<<20), Key: key}, {Name: "no key", Key: "*"}, {Name: "\n", Key: key},
	}})
	if len(list) != 1 || list[0].Key != key || len([]rune(list[0].Name)) > office.MaxDeskName || strings.Contains(list[0].Name, "\x1b") {
		t.Errorf("%.200v", list)
	}
}
