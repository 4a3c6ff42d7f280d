package main

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheDescriptionShowsPicturesThatLieWhereItSays(t *testing.T) {
	p := here(t)
	plain, err := p.metainfo()
	if err != nil || bytes.Contains(plain, []byte("<screenshot")) {
		t.Errorf("without an address it shows pictures: %v", err)
	}
	p.announced.address, p.announced.page = "https://example.com/countersign/countersign.json", "https://example.com/get?a=1&b=2"
	described := must(p.metainfo())
	var read struct {
		URL         []string `xml:"url"`
		Screenshots []struct {
			Caption []string `xml:"caption"`
			Image   string   `xml:"image"`
		} `xml:"screenshots>screenshot"`
	}
	noErr(t, xml.Unmarshal(described, &read))
	noErr(t, p.publishScreenshots())
	if len(read.Screenshots) != len(screenshots) || len(read.URL) != 1 || read.URL[0] != p.announced.page {
		t.Fatalf("it has %d pictures and leads to %s", len(read.Screenshots), read.URL)
	}
	for _, s := range read.Screenshots {
		name, beside := strings.CutPrefix(s.Image, "https://example.com/countersign/")
		if info, err := os.Stat(filepath.Join(p.out, name)); !beside || err != nil || info.Size() < 10_000 || len(s.Caption) != 4 {
			t.Errorf("%s with %d captions: %v", s.Image, len(s.Caption), err)
		}
	}
	if _, err := exec.LookPath("appstreamcli"); err != nil {
		t.Skip("there is no appstreamcli here")
	}
	for _, text := range [][]byte{plain, described} {
		path := filepath.Join(p.out, "ch.countersign.app.metainfo.xml")
		noErr(t, write(path, text))
		if out, err := exec.Command("appstreamcli", "validate", "--no-net", path).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

func TestEntriesOfTheDesktopAreValid(t *testing.T) {
	if _, err := exec.LookPath("desktop-file-validate"); err != nil {
		t.Skip("there is no desktop-file-validate here")
	}
	for _, name := range []string{"ch.countersign.app.desktop", "countersign-autostart.desktop", "thunar-sendto.desktop"} {
		if out, err := exec.Command("desktop-file-validate", here(t).packaging("linux", name)).CombinedOutput(); err != nil || len(out) != 0 {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
