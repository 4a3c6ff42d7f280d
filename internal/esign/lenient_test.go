package esign

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Most answers are written plainly, and are read in a quick way; what is odd in one must not hide the rest of it.
func TestAListIsReadTheSameHoweverOddItsElementsAre(t *testing.T) {
	type person struct {
		Name text   `json:"name"`
		Age  number `json:"age"`
	}
	anna, bert := person{"Anna", 30}, person{"Bert", 40}
	for raw, want := range map[string]list[person]{
		`[{"name":"Anna","age":30},{"name":"Bert","age":40}]`:            {anna, bert},
		`[{"name":"Anna","age":30},null,{"name":"Bert","age":40}]`:       {anna, bert},
		`[{"name":"Anna","age":30},7,"x",[],{"name":"Bert","age":"40"}]`: {anna, bert},
		`{"name":"Anna","age":30}`:                                       {anna},
		`[{}]`:                                                           {{}},
		`null`:                                                           nil,
		`"x"`:                                                            nil,
		`[]`:                                                             nil,
	} {
		var got list[person]
		if err := json.Unmarshal([]byte(raw), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %v, %v; want %v", raw, got, err, want)
		}
	}
}

func TestTextIsReadTheSameHoweverItIsWritten(t *testing.T) {
	for raw, want := range map[string]text{
		`"Anna"`:        "Anna",
		`""`:            "",
		`"Zoë"`:         "Zoë",
		`"Zo\u00eb"`:    "Zoë",
		`"a \"b\" \\c"`: `a "b" \c`,
		`12.50`:         "12.50",
		`null`:          "",
		`true`:          "",
		`{"a":"b"}`:     "",
		"\"bad \xff\"":  "bad \ufffd",
		"\"a\nb\"":      "",
		`"`:             "",
		`"a" and "b"`:   "",
		``:              "",
	} {
		got := text("before")
		if got.UnmarshalJSON([]byte(raw)); got != want {
			t.Errorf("%q is read as %q, want %q", raw, got, want)
		}
	}
}
