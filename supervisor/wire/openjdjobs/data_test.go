package openjdjobs

import (
	"crypto/rand"
	"encoding/hex"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"qb/api"
)

// TestOpenJDData: what a job carries arrives unchanged, in characters that no token and no path map changes.
func TestOpenJDData(t *testing.T) {
	t.Parallel()
	d := Data{Version: 1, Part: Part{"QB_FRAME_NUMBER, /mnt/a: \u00fc\u2028<&>", 7}, Values: map[string]string{"A": "P:\\x\r\n\t{{Param.B}}"},
		Documents: []api.OpenJDDocument{{Text: "\ufeffname: \u00e9\n"}, {Text: strings.Repeat("{}\n", 300_000), Syntax: "json"}}}
	packed, err := d.pack()
	if err != nil {
		t.Fatal(err)
	}
	value, err := d.value(packed)
	if err != nil || !regexp.MustCompile(`^[A-Za-z0-9_.-]+$`).MatchString(value) {
		t.Fatalf("%q, %v", value, err)
	}
	got, err := Unpack(value)
	if err != nil || !reflect.DeepEqual(*got, d) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, cut := range []string{value[:len(value)-8], packed, packed[8:] + ".e30", packed[:len(packed)-8] + ".e30", packed + ".!", ""} {
		if _, err := Unpack(cut); err == nil {
			t.Errorf("%.40q… is taken", cut)
		}
	}
	if value, err := (Part{strings.Repeat("\U0001f600", 512), 1 << 40}).value(""); err != nil || len(value)+len(Variable)+1 > mostPart {
		t.Errorf("the longest name of a step takes %d bytes: %v", len(value), err)
	}
	random := make([]byte, 100_000)
	_, _ = rand.Read(random)
	d.Documents[0].Text = hex.EncodeToString(random)
	if _, err := d.pack(); err == nil || !strings.Contains(err.Error(), "a job carries at most 33554432 and 124927 of them") {
		t.Error(err)
	}
	d.Documents[0].Text = strings.Repeat(" ", mostData)
	if _, err := d.pack(); err == nil || !strings.Contains(err.Error(), "compressed") {
		t.Error(err)
	}
}
