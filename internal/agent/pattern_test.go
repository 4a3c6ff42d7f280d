package agent

import (
	"errors"
	"strings"
	"testing"

	"countersign/internal/office"
	"countersign/internal/secret"
)

// The example says what is wrong with a pattern in the words of the one judgement of settings.
func TestAWrongPatternIsExplainedWhereItIsTyped(t *testing.T) {
	a, err := Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: secret.Memory()})
	noErr(t, err)
	defer a.Close()
	for pattern, says := range map[string]string{"{packge}": "packge", "../{package}": "", "{package": "", "": "-"} {
		s := theOffice().Settings
		s.SaveTo, s.NgrokCA, s.NameTemplate = t.TempDir(), "", pattern
		_, err := a.PreviewName(s)
		if pattern == "" { // the default
			if err != nil {
				t.Errorf("%q: %v", pattern, err)
			}
			continue
		}
		if err == nil || strings.Contains(err.Error(), "went wrong") || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", pattern, err)
			continue
		}
		var config *ConfigError
		if kept := a.Configure(t.Context(), s, office.Secrets{}); !errors.As(kept, &config) || config.Fields[0].Field != office.FieldTemplate || config.Fields[0].Text != Message(err) {
			t.Errorf("%q: the example says %q, the settings %v", pattern, err, kept)
		}
		if a.Settings().NameTemplate == pattern {
			t.Errorf("%q is kept", pattern)
		}
	}
}
