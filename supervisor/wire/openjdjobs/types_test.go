package openjdjobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qb/api"
)

// TestBuiltinTypesHaveSamples: each can be tested, and a sample shows that what a range leaves out is not made.
func TestBuiltinTypesHaveSamples(t *testing.T) {
	types, errs := Types("")
	if len(errs) > 0 || len(types) < 6 {
		t.Fatal(len(types), errs)
	}
	for _, found := range types {
		s, err := SampleOf("", found)
		if err != nil {
			t.Error(err)
		} else if !strings.ContainsAny(s.Values[found.Range], ":,") {
			t.Errorf("%s: the range %q of the sample has no gap", found.Name, s.Values[found.Range])
		}
	}
}

// TestSamplesAreBounded: a sample that is too large, or has other things than files, is refused.
func TestSamplesAreBounded(t *testing.T) {
	for name, spoil := range map[string]func(folder string) error{
		"bytes":              func(folder string) error { return os.Truncate(folder+"/input.txt", api.SampleBytes+1) },
		"not a regular file": func(folder string) error { return os.Mkdir(folder+"/more", 0o777) },
		"unknown field": func(folder string) error {
			return os.WriteFile(folder+"/sample.json", []byte(`{"expect": []}`), 0o666)
		},
		"leave out the member": func(folder string) error {
			return os.WriteFile(folder+"/sample.json", []byte(`{"files": {"a": ""}}`), 0o666)
		},
		"begins with no dot": func(folder string) error { return os.WriteFile(folder+"/.hidden", nil, 0o666) },
	} {
		site := t.TempDir()
		folder := filepath.Join(site, "own", "sample")
		if err := os.CopyFS(folder, os.DirFS("types/command/sample")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(folder+"/input.txt", nil, 0o666); err != nil {
			t.Fatal(err)
		}
		own := api.JobType{Name: "own", Site: true}
		if _, err := SampleOf(site, own); err != nil {
			t.Fatal(err)
		}
		if err := spoil(folder); err != nil {
			t.Fatal(err)
		}
		if _, err := SampleOf(site, own); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
