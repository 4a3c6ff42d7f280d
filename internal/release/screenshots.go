package main

import (
	"errors"
	"path"
	"path/filepath"
	"strings"
)

// screenshots are pictures of the window for software centres: their names in the metainfo, and the files in
// ui/window/testdata. Some of the window's tests check them, so they show what people get.
var screenshots = map[string]string{"packages": "packages-saved.png", "send": "send-filled.png", "dark": "packages-dark.png"}

// pictures is the base address of the screenshots, beside the rest of the release. It is empty if the release's address is
// unknown: software centres load pictures only from an address.
func (p product) pictures() string {
	if p.announced.address == "" {
		return ""
	}
	return p.announced.address[:strings.LastIndex(p.announced.address, "/")+1] + "countersign-" + p.version + "-"
}

// publishScreenshots copies the screenshots to where the metainfo says they are.
func (p product) publishScreenshots() (err error) {
	if p.pictures() == "" {
		return nil
	}
	for name, test := range screenshots {
		to := filepath.Join(p.out, path.Base(p.pictures())+name+".png")
		err = errors.Join(err, copyFile(filepath.Join(p.root, "ui", "window", "testdata", test), to))
	}
	return err
}

// metainfo is the description for software centres (AppStream).
func (p product) metainfo() ([]byte, error) {
	changes, err := p.changes()
	if err != nil {
		return nil, err
	}
	kind := "stable"
	if strings.ContainsAny(p.packageVersion(), "~+") {
		kind = "development"
	}
	return p.form("linux/ch.countersign.app.metainfo.xml", map[string]any{
		"Version": p.packageVersion(), "Date": p.made.Format("2006-01-02"), "Kind": kind, "Changes": changes,
		"Homepage": p.announced.page, "Pictures": p.pictures(),
	})
}
