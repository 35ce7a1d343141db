// Command protobuf-fields prints how the types of Kubernetes are written in protobuf, as JSON: for each
// message its fields in Go's order, with their numbers and JSON names. kubectl and helm send bodies in that form.
//
// The sandbox of kubepkg keeps the answer; see kubepkg-sandbox/src/api/data/README.md.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// special are types whose JSON is not that of their fields.
var special = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                     "time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                "microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":                 "duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                 "raw",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                  "raw",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                 "quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":               "intorstring",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON": "raw",
}

// either are types that are a schema or something else: a boolean, or a list.
var either = map[string]bool{
	"JSONSchemaPropsOrArray":       true,
	"JSONSchemaPropsOrBool":        true,
	"JSONSchemaPropsOrStringArray": true,
}

// served are the groups of kube-apiserver whose clients write protobuf.
func served(gv string) bool {
	return !strings.Contains(gv, "alpha") && !strings.Contains(gv, "beta") && !strings.Contains(gv, "__internal")
}

type field struct {
	Number int    `json:"n"`
	Name   string `json:"j"`
	Type   string `json:"t"`
	Flags  string `json:"f,omitempty"`
}

var messages = map[string][]field{}

func nameOf(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

func typeOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := special[nameOf(t)]; ok {
		return s
	}
	if either[t.Name()] {
		return "e:" + nameOf(reflect.TypeOf(apiextensionsv1.JSONSchemaProps{}))
	}
	switch t.Kind() {
	case reflect.String:
		// Messages about values of a wrong type name it.
		if t.PkgPath() != "" {
			return "s:" + t.String()
		}
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32, reflect.Int64:
		return t.Kind().String()
	case reflect.Float64:
		return "double"
	case reflect.Struct:
		walk(t)
		return "m:" + nameOf(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		// A list with a name of its own is a message with one field.
		if t.Name() != "" {
			return "l:" + t.String() + "=" + typeOf(t.Elem())
		}
		return typeOf(t.Elem())
	case reflect.Map:
		if t.Name() != "" {
			return "x:" + t.String() + "=" + typeOf(t.Elem())
		}
		return "x:" + typeOf(t.Elem())
	}
	panic(fmt.Sprint("no type for ", t))
}

func walk(t reflect.Type) {
	name := nameOf(t)
	if _, done := messages[name]; done {
		return
	}
	messages[name] = nil
	var fields []field
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := f.Tag.Get("protobuf")
		if tag == "" || tag == "-" {
			continue
		}
		number, err := strconv.Atoi(strings.Split(tag, ",")[1])
		if err != nil {
			panic(err)
		}
		parts := strings.Split(f.Tag.Get("json"), ",")
		flags := ""
		has := func(word string) bool {
			for _, part := range parts[1:] {
				if part == word {
					return true
				}
			}
			return false
		}
		ft := f.Type
		switch {
		case parts[0] == "" && (has("inline") || f.Anonymous):
			flags += "i"
		case ft.Kind() == reflect.Slice && ft.Name() == "" && ft.Elem().Kind() != reflect.Uint8:
			flags += "r"
		}
		pointer := ft.Kind() == reflect.Pointer
		structure := ft.Kind() == reflect.Struct
		if !pointer && (has("omitzero") || has("omitempty") && !structure) {
			flags += "o"
		}
		if pointer {
			flags += "p"
		}
		fields = append(fields, field{number, parts[0], typeOf(ft), flags})
	}
	messages[name] = fields
}

func main() {
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(scheme.Scheme); err != nil {
			panic(err)
		}
	}
	kinds := map[string]string{}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		gv := gvk.GroupVersion().String()
		if !served(gv) || gvk.Kind == "WatchEvent" || strings.HasSuffix(gvk.Kind, "List") {
			continue
		}
		if !t.Implements(reflect.TypeOf((*runtime.Object)(nil)).Elem()) && !reflect.PointerTo(t).Implements(reflect.TypeOf((*runtime.Object)(nil)).Elem()) {
			continue
		}
		if t.PkgPath() == reflect.TypeOf(metav1.DeleteOptions{}).PkgPath() && gv != "v1" {
			continue
		}
		walk(t)
		kinds[gv+" "+gvk.Kind] = nameOf(t)
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]any{"kinds": kinds, "messages": messages}); err != nil {
		panic(err)
	}
}
