package sandbox

import (
	"embed"
	"html/template"
	"net/http"
	"slices"
	"time"
)

//go:embed web/*.html web/*.css web/*.js
var webFiles embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"css":  func() template.CSS { return template.CSS(asset("page.css")) },
	"pad":  func() template.JS { return template.JS(asset("pad.js")) },
	"when": func(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04 UTC") },
}).ParseFS(webFiles, "web/*.html"))

// asset reads a file that is part of the program.
func asset(name string) string {
	raw, err := webFiles.ReadFile("web/" + name)
	if err != nil {
		panic(err) // the build put it there
	}
	return string(raw)
}

// webRoutes are the authorization server and the pages for people: everything that has no /api/v1.
func (s *Server) webRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", s.discovery)
	mux.HandleFunc("GET /.well-known/jwks", s.jwks)
	mux.HandleFunc("GET /connect/authorize", s.authorize)
	mux.HandleFunc("POST /connect/token", s.oauthForm(s.exchange))
	mux.HandleFunc("POST /connect/revoke", s.oauthForm(s.revoke))
	mux.HandleFunc("GET /connect/userinfo", s.api(s.userinfo))
	mux.HandleFunc("POST /connect/userinfo", s.api(s.userinfo))
	mux.HandleFunc("GET /connect/login", s.loginPage)
	mux.HandleFunc("POST /connect/login", s.loginChoice)
	mux.HandleFunc("GET /connect/consent", s.consentPage)
	mux.HandleFunc("POST /connect/consent", s.consentChoice)
	mux.HandleFunc("GET /{$}", s.indexPage)
	mux.HandleFunc("POST /packages/{packageId}/withdraw", s.withdrawChoice)
	mux.HandleFunc("GET /link/{token}", s.signerPage)
	mux.HandleFunc("POST /link/{token}", s.signerChoice)
	mux.HandleFunc("GET /link/{token}/documents/{documentId}", s.signerDocument)
	return mux
}

// show answers with a page. Nothing on it comes from elsewhere, and no other site may frame it.
func (s *Server) show(w http.ResponseWriter, status int, name string, data map[string]any) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	noStore(w)
	w.WriteHeader(status)
	if err := pages.ExecuteTemplate(w, name, data); err != nil {
		s.log.Debug("showing a page failed", "page", name, "error", err)
	}
}

func (s *Server) showProblem(w http.ResponseWriter, status int, title, text string) {
	s.show(w, status, "problem.html", map[string]any{"Title": title, "Text": text})
}

func (s *Server) showFailure(w http.ResponseWriter, err error) {
	s.log.Error("a page failed", "error", err)
	s.showProblem(w, http.StatusInternalServerError, "Something unexpected happened.", "The log of the service has the reason.")
}

// indexPackage is a package as the index shows it.
type indexPackage struct {
	Name, State string
	Note        string // what its sender said and its people were told when it was withdrawn
	Form        string // of what can be done with it; empty where nothing can
	Withdraw    string // where that is sent
	Created     time.Time
	Signers     []indexSigner
	Copies      []recipient
}

type indexSigner struct {
	Name, Link, Word string
	Done, Turn       bool
}

// maxIndex is how many packages the index shows, newest first.
const maxIndex = 100

// indexPage is GET /: what this service is, who can sign in, every package with its signers' pages, and
// the templates.
func (s *Server) indexPage(w http.ResponseWriter, _ *http.Request) {
	all, err := s.packs()
	if err != nil {
		s.showFailure(w, err)
		return
	}
	now := s.opt.Now()
	shown := []indexPackage{}
	for _, p := range all[:min(len(all), maxIndex)] {
		in := indexPackage{Name: p.Name, State: p.stateAt(now), Created: p.TimeCreated, Copies: p.Recipients}
		if in.State == stateOpen {
			in.Form, in.Withdraw = s.formToken(p.PackageID), "/packages/"+p.PackageID+"/withdraw"
		}
		if in.State == stateRescinded {
			in.Note = p.withdrawnNote()
		}
		for _, sg := range p.Signers {
			word, done, turn := p.standing(&sg, now)
			in.Signers = append(in.Signers, indexSigner{sg.fullName(), "/link/" + sg.LinkToken, word, done, turn})
		}
		shown = append(shown, in)
	}
	templates, err := s.templates()
	if err != nil {
		s.showFailure(w, err)
		return
	}
	s.show(w, http.StatusOK, "index.html", map[string]any{
		"Title": "Signing service", "URL": s.url, "Clients": s.opt.Clients, "Users": s.opt.Users,
		"Packages": shown, "More": len(all) - len(shown), "Templates": templates,
	})
}

// withdrawnNote says what the sender said of a withdrawn package, and whether its people were told.
func (p *pack) withdrawnNote() string {
	note := "The signers were not notified."
	if slices.Contains(p.Notified, stateRescinded) {
		note = "The signers were notified."
	}
	if p.RescindMessage != "" {
		note = "“" + p.RescindMessage + "” " + note
	}
	return note
}

// standing says in a word where a signer stands.
func (p *pack) standing(sg *signer, now time.Time) (word string, done, turn bool) {
	switch {
	case sg.State == signerDeclined:
		return "declined", false, false
	case p.signedBy(sg.SignerID):
		return "signed", true, false
	case p.hasTurn(sg.SignerID, now):
		return "to sign", false, true
	}
	return "waiting", false, false
}
