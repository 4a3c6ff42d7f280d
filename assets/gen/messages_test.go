package main

import (
	"bytes"
	"os"
	"testing"
)

func TestTheFunctionsOfMessagesAreThoseOfTheirWords(t *testing.T) {
	english, err := os.ReadFile("../messages/en.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := messageFunctions(english)
	if err != nil {
		t.Fatal(err)
	}
	if have, err := os.ReadFile("../../internal/message/catalogue.go"); err != nil || !bytes.Equal(have, want) {
		t.Errorf("internal/message/catalogue.go is not what assets/messages/en.json says: run go generate ./assets (%v)", err)
	}
}

func TestAnArgumentWithoutAKindIsAnError(t *testing.T) {
	if _, err := messageFunctions([]byte(`{"a.b": "{{.Unheard}}"}`)); err == nil {
		t.Error("it is of some kind")
	}
}
