package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/office"
	"countersign/internal/office/settingstest"
)

// The command says of every value what the agent says, and nothing else.
func TestSetupJudgesAsTheAgentDoes(t *testing.T) {
	folder := t.TempDir()
	s := newShell(t)
	for _, c := range settingstest.Cases(folder) {
		if c.Flag == "" || c.Code == office.CodeChoice { // the words there are stand in the usage
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			args := []string{"setup"}
			around := c.Settings(folder)
			for flag, value := range map[string]string{"--auth-url": around.AuthURL, "--base-url": around.BaseURL, "--client-id": around.ClientID,
				"--scope": strings.Join(around.Scopes, " "), "--signature-header": around.SignatureHeader, "--redirect": string(around.Redirect),
				"--redirect-uri": "", "--tunnel": string(around.Tunnel), "--ngrok-domain": "", "--ngrok-connect-url": "", "--public-url": around.PublicURL,
				"--listen": around.Listen, "--save-to": filepath.Join(folder, "kept"), "--name-template": around.NameTemplate, "--keep-events": "90",
				"--copy-to": "", "--due-days": "3", "--blind-copy-to": ""} {
				if flag == c.Flag {
					value = c.Value
				}
				args = append(args, flag+"="+value)
			}
			code, stdout, stderr := s.run(args...)
			want, text := 0, ""
			for _, f := range c.With(folder).Check() {
				if f.Field == c.Field {
					want, text = 1, f.Text.String()
				}
			}
			if code != want || !strings.Contains(stderr, text) {
				t.Errorf("%d %s%s, want %d %s", code, stdout, stderr, want, text)
			}
			if strings.Contains(stdout+stderr, settingstest.Secret) {
				t.Errorf("a password is repeated: %s%s", stdout, stderr)
			}
		})
	}
}
