// Command internal-form prints how kube-apiserver writes specifications as its own, internal types, as JSON: for each type
// its fields in Go's order, the name of each in JSON and in the API, and what stands there when nobody has written it.
// The server shows the difference of two specifications in that form.
//
// The sandbox of kubepkg keeps the answer; see kubepkg-sandbox/src/api/data/README.md.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
)

var marshaler = reflect.TypeOf((*json.Marshaler)(nil)).Elem()

// field is its name in the internal form (empty when its own fields stand in its place), its name in the API (likewise),
// the type of the structures in it, and what it is when empty: n(ull), s(tring), z(ero), f(alse), q(uantity), m(essage),
// o(mitted).
type field [4]string

var types = map[string][]field{}

func own(t reflect.Type) bool {
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}

// structure is the type of the structures in a value.
func structure(t reflect.Type) reflect.Type {
	for !own(t) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice:
			t = t.Elem()
		case reflect.Map:
			if structure(t.Elem()) != nil {
				panic(fmt.Sprint("a map of structures: ", t))
			}
			return nil
		case reflect.Struct:
			return t
		default:
			return nil
		}
	}
	return nil
}

func empty(t reflect.Type) string {
	switch t.Name() {
	case "Quantity":
		return "q"
	case "IntOrString":
		return "z"
	case "Time":
		return "n"
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return "n"
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "f"
	case reflect.Struct:
		return "m"
	case reflect.Int32, reflect.Int64:
		return "z"
	}
	panic(fmt.Sprint("what is an empty ", t))
}

func tag(f reflect.StructField) (name string, omitted bool) {
	parts := strings.Split(f.Tag.Get("json"), ",")
	return parts[0], len(parts) > 1 && parts[1] == "omitempty"
}

func walk(internal, served reflect.Type) {
	name := internal.Name()
	if _, done := types[name]; done {
		return
	}
	types[name] = nil
	var fields []field
	for i := 0; i < internal.NumField(); i++ {
		f := internal.Field(i)
		s, found := served.FieldByName(f.Name)
		shown, omitted := tag(f)
		if shown == "" && !f.Anonymous {
			shown = f.Name
		}
		if !found {
			// What the pod's security context has of the specification keeps its name.
			if s, found = reflect.TypeOf(v1.PodSpec{}).FieldByName(f.Name); !found {
				panic(fmt.Sprint("no ", f.Name, " in ", served))
			}
		}
		api, _ := tag(s)
		inner := ""
		if t := structure(f.Type); t != nil {
			other := structure(s.Type)
			walk(t, other)
			inner = t.Name()
		}
		blank := empty(f.Type)
		if omitted {
			blank = "o"
		}
		fields = append(fields, field{shown, api, inner, blank})
	}
	types[name] = fields
}

func main() {
	walk(reflect.TypeOf(batch.JobSpec{}), reflect.TypeOf(batchv1.JobSpec{}))
	walk(reflect.TypeOf(core.PersistentVolumeClaimSpec{}), reflect.TypeOf(v1.PersistentVolumeClaimSpec{}))
	walk(reflect.TypeOf(core.PersistentVolumeSource{}), reflect.TypeOf(v1.PersistentVolumeSource{}))
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(types); err != nil {
		panic(err)
	}
}
