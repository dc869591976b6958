package main

import (
	"strings"
	"testing"
)

// TestJobID: what is no job id is refused, and a list of ids with the words to type in its place.
func TestJobID(t *testing.T) {
	for word, want := range map[string]string{
		"3,4":    ": 3 4",
		"3-5":    ": 3 4 5",
		"3-5,9":  ": 3 4 5 9",
		"10-400": ": $(seq 10 400)",
		"0-3":    "ids are numbers from 1",
		"5-3":    "ids are numbers from 1",
		"3:1-2":  "ids are numbers from 1",
		"three":  "ids are numbers from 1",
		"-3":     "ids are numbers from 1",
		"0":      "ids are numbers from 1",
		"":       "ids are numbers from 1",
	} {
		id, err := jobID(word)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %d, %v, want an error that ends with %q", word, id, err, want)
		}
	}
	if id, err := jobID("12"); id != 12 || err != nil {
		t.Errorf("12: %d, %v", id, err)
	}
}
