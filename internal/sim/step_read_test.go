package sim

import (
	"reflect"
	"testing"
)

func TestStepsAreReadAsTheyAreWritten(t *testing.T) {
	steps := life(7, 5, 10)
	read, err := parse(text(steps))
	if err != nil {
		t.Fatal(err)
	}
	for i := range steps {
		if len(steps[i].args) == 0 {
			steps[i].args = read[i].args // none is none
		}
		if !reflect.DeepEqual(steps[i], read[i]) {
			t.Errorf("%v is read as %v", steps[i], read[i])
		}
	}
}
