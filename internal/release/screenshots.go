package main

import (
	"errors"
	"path"
	"path/filepath"
	"strings"
)

// screenshots are pictures of the window for software centres: by the names that their description has for them, those in
// ui/window/testdata. They are some of the window's tests, so that they show what people get.
var screenshots = map[string]string{"packages": "packages-saved.png", "send": "send-filled.png", "dark": "packages-dark.png"}

// pictures is what the addresses of the screenshots begin with, beside the rest of the release; empty where nobody says where that
// will lie, for software centres load pictures from nowhere else.
func (p product) pictures() string {
	if p.announced.address == "" {
		return ""
	}
	return p.announced.address[:strings.LastIndex(p.announced.address, "/")+1] + "countersign-" + p.version + "-"
}

// publishScreenshots puts the screenshots where the description says that they are.
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
