// The helm program, which also writes down what its templates got from chance and from the clock.
//
// `cargo xtask parity` builds it and renders with it the charts on which helm's own answer changes from run to run: with the
// record, kubepkg makes the same choices, and the two have to be equal byte for byte. Everything but the functions of
// the table below is helm's own code, and they do what they did.
//
// The record is a file of JSON objects, one a line, named by KUBEPKG_RECORD.
package main

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"sort"
	"strings"
	"time"
	_ "unsafe" // for go:linkname

	_ "github.com/Masterminds/sprig/v3"
	helmcmd "helm.sh/helm/v4/pkg/cmd"
)

// The table that every set of template functions is copied from.
//
//go:linkname functions github.com/Masterminds/sprig/v3.genericMap
var functions map[string]interface{}

// One call: what the function answered, or what can be seen in the answer of the chance behind it.
type entry struct {
	Function string `json:"function"`
	// The answer, where it is random through and through.
	Text *string `json:"text,omitempty"`
	// What was shuffled.
	From *string `json:"from,omitempty"`
	// A random number, less the least that it could have been.
	Number *int64 `json:"number,omitempty"`
	// A private key, in PEM.
	Key string `json:"key,omitempty"`
	// Random bytes: a salt, a serial number, an identifier.
	Bytes []byte `json:"bytes,omitempty"`
	// Seconds since 1970, nanoseconds, and nanoseconds since the start of the program.
	Time *[3]int64 `json:"time,omitempty"`
	// The keys of maps, in the order in which they came.
	Keys []string `json:"keys,omitempty"`
}

type recorder struct{ out *json.Encoder }

func (r recorder) write(e entry) {
	if err := r.out.Encode(e); err != nil {
		fmt.Fprintln(os.Stderr, "Error: can't write the record:", err)
		os.Exit(1)
	}
}

// Puts a function around one of the table: `note` sees arguments and answer.
func (r recorder) around(name string, note func(e *entry, args, answer []reflect.Value) bool) {
	original := reflect.ValueOf(functions[name])
	functions[name] = reflect.MakeFunc(original.Type(), func(args []reflect.Value) []reflect.Value {
		var answer []reflect.Value
		if original.Type().IsVariadic() {
			answer = original.CallSlice(args)
		} else {
			answer = original.Call(args)
		}
		e := entry{Function: name}
		if note(&e, args, answer) {
			r.write(e)
		}
		return answer
	}).Interface()
}

func text(value reflect.Value) *string {
	text := value.String()
	return &text
}

func instant(at time.Time) *[3]int64 {
	// Only the text of a time tells its monotonic reading.
	var since float64
	if _, tail, found := strings.Cut(at.String(), " m=+"); found {
		fmt.Sscanf(tail, "%f", &since)
	}
	return &[3]int64{at.Unix(), int64(at.Nanosecond()), int64(since*1e9 + 0.5)}
}

// The salt of a bcrypt hash, which ends a text: $2a$10$ and 22 signs of an alphabet of its own.
func salt(text string) []byte {
	parts := strings.Split(text, "$")
	if len(parts) != 4 || len(parts[3]) < 22 {
		return nil
	}
	alphabet := "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	bytes, err := base64.NewEncoding(alphabet).WithPadding(base64.NoPadding).DecodeString(parts[3][:22])
	if err != nil {
		return nil
	}
	return bytes
}

func certificate(e *entry, answer reflect.Value, withKey bool) bool {
	block, _ := pem.Decode([]byte(answer.FieldByName("Cert").String()))
	if block == nil {
		return false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return false
	}
	e.Bytes = cert.SerialNumber.FillBytes(make([]byte, 16))
	e.Time = &[3]int64{cert.NotBefore.Unix(), 0, 0}
	if withKey {
		e.Key = answer.FieldByName("Key").String()
	}
	return true
}

// Whether a date function takes this for a time; it takes the present for everything else.
func isTime(value reflect.Value) bool {
	switch value.Interface().(type) {
	case time.Time, *time.Time, int64, int, int32:
		return true
	}
	return false
}

func record(r recorder) {
	for _, name := range []string{"randAlpha", "randAlphaNum", "randAscii", "randNumeric"} {
		r.around(name, func(e *entry, _, answer []reflect.Value) bool {
			e.Text = text(answer[0])
			return true
		})
	}
	r.around("randInt", func(e *entry, args, answer []reflect.Value) bool {
		number := answer[0].Int() - args[0].Int()
		e.Number = &number
		return true
	})
	r.around("shuffle", func(e *entry, args, answer []reflect.Value) bool {
		e.From, e.Text = text(args[0]), text(answer[0])
		return true
	})
	r.around("uuidv4", func(e *entry, _, answer []reflect.Value) bool {
		_, err := fmt.Sscanf(strings.ReplaceAll(answer[0].String(), "-", ""), "%x", &e.Bytes)
		return err == nil
	})
	r.around("randBytes", func(e *entry, _, answer []reflect.Value) bool {
		bytes, err := base64.StdEncoding.DecodeString(answer[0].String())
		e.Bytes = bytes
		return err == nil && answer[1].IsNil()
	})
	r.around("encryptAES", func(e *entry, _, answer []reflect.Value) bool {
		bytes, err := base64.StdEncoding.DecodeString(answer[0].String())
		if err != nil || len(bytes) < 16 {
			return false
		}
		e.Bytes = bytes[:16]
		return true
	})
	for _, name := range []string{"bcrypt", "htpasswd"} {
		r.around(name, func(e *entry, _, answer []reflect.Value) bool {
			e.Bytes = salt(answer[0].String())
			return e.Bytes != nil
		})
	}
	r.around("genPrivateKey", func(e *entry, _, answer []reflect.Value) bool {
		e.Key = answer[0].String()
		return strings.HasPrefix(e.Key, "-----BEGIN")
	})
	for _, name := range []string{"genCA", "genSelfSignedCert", "genSignedCert"} {
		r.around(name, func(e *entry, _, answer []reflect.Value) bool {
			return certificate(e, answer[0], true)
		})
	}
	for _, name := range []string{"genCAWithKey", "genSelfSignedCertWithKey", "genSignedCertWithKey"} {
		r.around(name, func(e *entry, _, answer []reflect.Value) bool {
			return certificate(e, answer[0], false)
		})
	}
	r.around("now", func(e *entry, _, answer []reflect.Value) bool {
		e.Time = instant(answer[0].Interface().(time.Time))
		return true
	})
	r.around("ago", func(e *entry, _, _ []reflect.Value) bool {
		e.Time = instant(time.Now())
		return true
	})
	for name, place := range map[string]int{
		"date": 1, "dateInZone": 1, "date_in_zone": 1, "htmlDate": 0, "htmlDateInZone": 0,
	} {
		r.around(name, func(e *entry, args, _ []reflect.Value) bool {
			if isTime(args[place]) {
				return false
			}
			e.Time = instant(time.Now())
			return true
		})
	}
	r.around("keys", func(e *entry, _, answer []reflect.Value) bool {
		e.Keys = answer[0].Interface().([]string)
		return len(e.Keys) > 0
	})
	r.around("values", func(e *entry, args, answer []reflect.Value) bool {
		e.Keys = keysOf(args[0].Interface().(map[string]interface{}), answer[0].Interface().([]interface{}))
		return len(e.Keys) > 0
	})
}

// The keys to which values belong that came in the order of a map.
func keysOf(source map[string]interface{}, values []interface{}) []string {
	rest := make([]string, 0, len(source))
	for key := range source {
		rest = append(rest, key)
	}
	sort.Strings(rest)
	var keys []string
	for _, value := range values {
		for place, key := range rest {
			if reflect.DeepEqual(source[key], value) {
				keys = append(keys, key)
				rest = append(rest[:place], rest[place+1:]...)
				break
			}
		}
	}
	return keys
}

func main() {
	path := os.Getenv("KUBEPKG_RECORD")
	file, err := os.Create(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error: KUBEPKG_RECORD names no file that can be written:", err)
		os.Exit(1)
	}
	record(recorder{json.NewEncoder(file)})

	// From here on as in helm's own main.
	cmd, err := helmcmd.NewRootCmd(os.Stdout, os.Args[1:], helmcmd.SetupLogging)
	if err != nil {
		slog.Warn("command failed", slog.Any("error", err))
		os.Exit(1)
	}
	if err := cmd.Execute(); err != nil {
		if coded, ok := errors.AsType[helmcmd.CommandError](err); ok {
			os.Exit(coded.ExitCode)
		}
		os.Exit(1)
	}
}
