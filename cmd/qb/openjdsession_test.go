//go:build !client

package main

import (
	"crypto/rand"
	"encoding/hex"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"qb/openjd"
)

// TestOpenJDData: what a job carries arrives unchanged, in characters that no token and no path map changes.
func TestOpenJDData(t *testing.T) {
	t.Parallel()
	d := openjdData{Version: 1, Step: "QB_FRAME_NUMBER, /mnt/a: \u00fc\u2028<&>", Values: map[string]string{"A": "P:\\x\r\n\t{{Param.B}}"},
		Documents: []openjdDocument{{Text: "\ufeffname: \u00e9\n", Syntax: openjd.YAML}, {Text: strings.Repeat("{}\n", 300_000), Syntax: openjd.JSON}}}
	value, err := d.pack()
	if err != nil || !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(value) {
		t.Fatalf("%q, %v", value, err)
	}
	got, err := unpackOpenJD(value)
	if err != nil || !reflect.DeepEqual(*got, d) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := unpackOpenJD(value[:len(value)-8]); err == nil {
		t.Error("what is cut off is taken")
	}
	random := make([]byte, 100_000)
	_, _ = rand.Read(random)
	d.Documents[0].Text = hex.EncodeToString(random)
	if _, err := d.pack(); err == nil || !strings.Contains(err.Error(), "a job carries at most 33554432 and 131061 of them") {
		t.Error(err)
	}
	d.Documents[0].Text = strings.Repeat(" ", mostOpenJDData)
	if _, err := d.pack(); err == nil || !strings.Contains(err.Error(), "compressed") {
		t.Error(err)
	}
}
