package office

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"
)

// filled is a record in which every slice, map and pointer has something.
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 4))
		for i := range v.Len() {
			filled(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		filled(key)
		filled(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 23, 16, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				filled(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("x")
	}
}

// shared is where two values have memory in common.
func shared(path string, a, b reflect.Value) (all []string) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if a.Type() != reflect.TypeFor[*time.Location]() && a.Pointer() == b.Pointer() {
			all = append(all, path)
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() {
			all = append(all, shared(path, a.Elem(), b.Elem())...)
		}
	case reflect.Slice:
		for i := range a.Len() {
			all = append(all, shared(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))...)
		}
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[time.Time]() {
			return all
		}
		for i := range a.NumField() {
			all = append(all, shared(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))...)
		}
	}
	return all
}

func testClone[T interface{ Clone() T }](t *testing.T) {
	var whole, none T
	filled(reflect.ValueOf(&whole).Elem())
	for _, record := range []T{whole, none} {
		clone := record.Clone()
		if !reflect.DeepEqual(clone, record) {
			before, _ := json.Marshal(record)
			after, _ := json.Marshal(clone)
			t.Errorf("%T is not the same:\n%s\n%s", record, before, after)
		}
	}
	if common := shared("", reflect.ValueOf(whole), reflect.ValueOf(whole.Clone())); len(common) > 0 {
		t.Errorf("a clone of %T has in common with it: %q", whole, common)
	}
}

func TestAClonesMemoryIsItsOwn(t *testing.T) {
	testClone[Package](t)
	testClone[Draft](t)
	testClone[Event](t)
}
