package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// wingetID is the program's name among the packages of winget.
const wingetID = "Countersign.Countersign"

// download is where a file will lie, and its sum as winget writes it.
type download struct{ Address, Sum string }

// winget writes the manifest of Windows' package manager into the folder winget of p.out: for the installer and for the package,
// both of which will lie beside the manifest of UPDATE_URL, or where DOWNLOAD_URL says. Without either it says so and makes none.
func (p product) winget(setup, msi string) (files []string, err error) {
	folder, err := p.downloads()
	if err != nil {
		return nil, err
	}
	if folder == nil {
		say("There is no manifest for winget: neither DOWNLOAD_URL nor UPDATE_URL says where the installers will lie.")
		return nil, nil
	}
	lies := func(file string) (d download, err error) {
		d.Address = folder.JoinPath(filepath.Base(file)).String()
		content, err := os.ReadFile(file)
		d.Sum = fmt.Sprintf("%X", sha256.Sum256(content))
		return d, err
	}
	numbers, err := p.msiVersion()
	if err != nil {
		return nil, err
	}
	values := map[string]any{
		"Version": p.version, "Date": p.made.Format("2006-01-02"), "Product": p.productCode(), "Numbers": numbers,
		"Upgrade": strings.ToUpper("{" + upgradeCode.String() + "}"), "Page": p.announced.page,
	}
	if values["Setup"], err = lies(setup); err != nil {
		return nil, err
	}
	if values["Package"], err = lies(msi); err != nil {
		return nil, err
	}
	names := map[string]string{"version": "", "installer": ".installer", "locale": ".locale.en-US"}
	for _, form := range slices.Sorted(maps.Keys(names)) {
		name := names[form]
		text, err := p.form("windows/winget/"+form+".yaml", values)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(p.out, "winget", wingetID+name+".yaml")
		if err := write(file, text); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// downloads is the folder in which the files of a release will lie; nil where nobody says.
func (p product) downloads() (*url.URL, error) {
	address, name := os.Getenv("DOWNLOAD_URL"), "DOWNLOAD_URL"
	if address == "" {
		address, name = p.announced.address, "UPDATE_URL"
	}
	if address == "" {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is no https address", name)
	}
	if name == "UPDATE_URL" { // the file beside which they lie
		u.Path = path.Dir(u.Path)
	}
	return u, nil
}
