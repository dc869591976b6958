package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// drawn are parts of texts: characters, bytes that are none, and escapes as JSON has them.
var drawn = []string{"a", " ", "\x01", "\ufeff", "e\u0301", "\u202e", "\u2028", "\ufffe", "\x00", "é", "€", "🎬", "\ufffd", "\xe9", "\xc3", "\x80", "\xff", "\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80"}

// Text passes exactly if encoding/json carries it unchanged and it has no NUL, which neither a row nor a process holds.
func TestCheckText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(drawn), 0, 4).Draw(t, "parts"), "")
		})
		given := SubmitRequest{Command: rapid.SliceOfN(text, 1, 3).Draw(t, "command"), Name: text.Draw(t, "name"), Env: rapid.MapOfN(text, text, 0, 2).Draw(t, "env"),
			Tags: rapid.MapOfN(text, text, 0, 1).Draw(t, "tags"), Hosts: rapid.SliceOfN(text, 0, 2).Draw(t, "hosts")}
		data, err := json.Marshal(given)
		var got SubmitRequest
		if err == nil {
			err = json.Unmarshal(data, &got)
		}
		if err != nil {
			t.Fatal(err)
		}
		arrives := reflect.DeepEqual(normal(given), normal(got)) && !bytes.Contains(data, []byte(`\u0000`))
		if err := CheckText(given); (err == nil) != arrives {
			t.Fatalf("%+v arrives: %v; %v", given, arrives, err)
		} else if err != nil && (!utf8.ValidString(err.Error()) || strings.ContainsRune(err.Error(), 0) ||
			!strings.Contains(err.Error(), "is not UTF-8; ") && !strings.Contains(err.Error(), "has the character NUL; ")) {
			t.Fatalf("%q", err)
		}
	})
}

// normal has no empty lists, which JSON leaves out.
func normal(r SubmitRequest) SubmitRequest {
	if len(r.Hosts) == 0 {
		r.Hosts = nil
	}
	if len(r.Env) == 0 {
		r.Env = nil
	}
	if len(r.Tags) == 0 {
		r.Tags = nil
	}
	return r
}

// JSON passes exactly if its reader makes no replacement character of what is none.
func TestCheckJSON(t *testing.T) {
	escapes := append([]string{`\u00e9`, `\ud83c\udfac`, `\ud83c`, `\udfac`, `\udce9`, `\ud83c\u0041`, `\\udce9`, `\\\udce9`, `\n`, `\"`, `\uD800\uDFFF`}, drawn...)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(escapes), 0, 5).Draw(t, "parts")
		parts = slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part < " " }) // JSON has escapes for these
		data := []byte(`{"name": "x", "env": {"name": ["` + strings.Join(parts, "") + `"]}, "notes": "y"}`)
		var read struct {
			Env struct{ Name []string }
		}
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		replaced := strings.Count(read.Env.Name[0], "\ufffd") - strings.Count(string(data), "\ufffd")
		err := CheckJSON(data)
		if (err == nil) != (replaced == 0) {
			t.Fatalf("%q, %d characters replaced: %v", data, replaced, err)
		}
		if e, ok := errors.AsType[*Error](err); ok && (e.Member != "env" || !strings.HasPrefix(e.Text, "env: byte ")) {
			t.Fatalf("%q: %+v", data, e)
		}
	})
}

func TestPlacesOfText(t *testing.T) {
	t.Parallel()
	for want, given := range map[string]any{
		`command, word 2: "Pok\xe9mon" is not UTF-8`: SubmitRequest{Command: []string{"cat", "Pok\xe9mon"}},
		`env A: its value is not UTF-8`:              &SubmitRequest{Env: map[string]string{"A": "secret\xe9"}},
		`env: the name "\xe9" is not UTF-8`:          &SubmitRequest{Env: map[string]string{"\xe9": ""}},
		`tags prod_show: its value is not UTF-8`:     SubmitRequest{Tags: map[string]string{"prod_show": "\xff"}},
		`name: "\xe9" is not UTF-8`:                  &ModifyRequest{Name: new("\xe9")},
		`hosts, word 1: "\xe9" is not UTF-8`:         ModifyRequest{Hosts: &[]string{"\xe9", "b"}},
		`command, word 2: "a\x00b" has the character NUL; no process and no row can hold it: leave it out`: SubmitRequest{Command: []string{"cat", "a\x00b"}},
		`env A: its value has the character NUL`:                                                           &SubmitRequest{Env: map[string]string{"A": "secret\x00"}},
		`env: the name "\x00" has the character NUL`:                                                       &SubmitRequest{Env: map[string]string{"\x00": ""}},
		`tags prod_show: its value has the character NUL`:                                                  SubmitRequest{Tags: map[string]string{"prod_show": "\x00"}},
		`name: "\x00" has the character NUL`:                                                               &ModifyRequest{Name: new("\x00")},
		`validate, word 2: "\x00" has the character NUL`:                                                   ModifyRequest{Validate: &[]string{"b", "\x00"}},
	} {
		if err := CheckText(given); err == nil || !strings.HasPrefix(err.Error()+"; ", want+"; ") {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	if err := checkParams(Params{"user": "ada\x00"}); err == nil || !strings.HasPrefix(err.Error(), `user: "ada\x00" has the character NUL; `) {
		t.Error(err)
	}
	if err := CheckText(nil); err != nil {
		t.Error(err)
	}
}

// What is wrong behind millions of brackets is refused without a note of each.
func TestCheckJSONOfDepth(t *testing.T) {
	data := append(bytes.Repeat([]byte("["), 8<<20), '"', 0xff, '"')
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := CheckJSON(data)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("it is taken: %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 2<<20 {
		t.Errorf("it took %d bytes", took)
	}
}
