package agent

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

func TestTheBrowserIsToldInTheLanguageOfTheWindow(t *testing.T) {
	german, err := message.NewPrinter("de")
	noErr(t, err)
	speak := func(p *Params) { p.Words = func() *message.Printer { return german } }
	o := newOfficeWith(t, speak, sandbox.Options{}, func(s *office.Settings) { s.Language = "de" })
	pages := make(chan string, 1)
	read := func(address string) error {
		go func() {
			client := &http.Client{Timeout: patience, Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			resp, err := client.Get(address)
			if err != nil {
				pages <- err.Error()
				return
			}
			defer resp.Body.Close()
			page, _ := io.ReadAll(resp.Body)
			pages <- string(page)
		}()
		return nil
	}
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, read))
	page := <-pages
	for _, want := range []string{
		`<html lang="de">`, german.Text(message.YouAreSignedIn()), german.Text(message.WorksFor("olivia.office@example.com")), german.Text(message.ClosePage()),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
