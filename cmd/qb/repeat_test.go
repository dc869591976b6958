package main

import (
	"strings"
	"testing"
)

func TestKeyOf(t *testing.T) {
	r := repetition{key: "k"}
	long := r.keyOf(strings.Repeat("1,", 100))
	if a, b := r.keyOf(""), r.keyOf("12:1-5"); a != "k" || b != "k/12:1-5" || len(long) > 128 || long == r.keyOf(strings.Repeat("2,", 100)) || !printableASCII(r.keyOf("7:ä")) {
		t.Errorf("%q, %q, %q, %q", a, b, long, r.keyOf("7:ä"))
	}
}
