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
	d := Data{Version: 1, Step: "QB_FRAME_NUMBER, /mnt/a: \u00fc\u2028<&>", Values: map[string]string{"A": "P:\\x\r\n\t{{Param.B}}"},
		Documents: []api.OpenJDDocument{{Text: "\ufeffname: \u00e9\n"}, {Text: strings.Repeat("{}\n", 300_000), Syntax: "json"}}}
	value, err := d.Pack()
	if err != nil || !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(value) {
		t.Fatalf("%q, %v", value, err)
	}
	got, err := Unpack(value)
	if err != nil || !reflect.DeepEqual(*got, d) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Unpack(value[:len(value)-8]); err == nil {
		t.Error("what is cut off is taken")
	}
	random := make([]byte, 100_000)
	_, _ = rand.Read(random)
	d.Documents[0].Text = hex.EncodeToString(random)
	if _, err := d.Pack(); err == nil || !strings.Contains(err.Error(), "a job carries at most 33554432 and 131061 of them") {
		t.Error(err)
	}
	d.Documents[0].Text = strings.Repeat(" ", mostData)
	if _, err := d.Pack(); err == nil || !strings.Contains(err.Error(), "compressed") {
		t.Error(err)
	}
}
