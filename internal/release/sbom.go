package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// bill is the bill of materials of the programs (CycloneDX 1.6, JSON): Go and every module in them, and what modules bring along,
// with licences. Its serial number follows from what it says.
func (p product) bill(ctx context.Context, programs ...string) ([]byte, error) {
	modules, err := p.modules(ctx, programs...)
	if err != nil {
		return nil, err
	}
	self := cdx.Component{
		BOMRef: "countersign", Type: cdx.ComponentTypeApplication, Name: "countersign", Version: p.version,
		Properties: &[]cdx.Property{{Name: "commit", Value: p.commit}},
	}
	components := []cdx.Component{}
	needs := []string{}
	inside := []cdx.Dependency{}
	for _, m := range modules {
		url := fmt.Sprintf("pkg:golang/%s@%s", m.path, m.version)
		choices := cdx.Licenses{}
		for _, l := range m.licences() {
			choices = append(choices, choice(l))
		}
		components = append(components, cdx.Component{
			BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: url,
			Scope: cdx.ScopeRequired, Licenses: &choices,
		})
		needs = append(needs, url)
		parts, of := m.partsIn(url)
		components, inside = append(components, parts...), append(inside, of...)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: p.made.Format(time.RFC3339), Component: &self}
	bom.Components = &components
	inside = append([]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &needs}}, inside...)
	bom.Dependencies = &inside
	plain, err := encode(bom)
	if err != nil {
		return nil, err
	}
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, plain).URN()
	return encode(bom)
}

// choice is a licence by its SPDX identifier, or by name when it is none of the known ones.
func choice(name string) cdx.LicenseChoice {
	if slices.ContainsFunc(marks, func(known mark) bool { return known.id == name }) {
		return cdx.LicenseChoice{License: &cdx.License{ID: name}}
	}
	return cdx.LicenseChoice{License: &cdx.License{Name: name}}
}

func encode(bom *cdx.BOM) ([]byte, error) {
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return b.Bytes(), err
}
