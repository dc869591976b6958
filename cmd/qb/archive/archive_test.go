package archive

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"qb/api"
)

// What is written is read again as it was, but for what belongs to the farm that it came from.
func TestRoundTrip(t *testing.T) {
	name := filepath.Join(t.TempDir(), "job.json")
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string { return rapid.StringOfN(rapid.Rune(), 0, 20, -1).Draw(t, label) }
		number := func(label string) *int {
			if !rapid.Bool().Draw(t, label+" given") {
				return nil
			}
			n := rapid.Int().Draw(t, label)
			return &n
		}
		want := api.SubmitRequest{
			Name: text("name"), Command: append([]string{"a"}, rapid.SliceOf(rapid.String()).Draw(t, "command")...), Shell: rapid.Bool().Draw(t, "shell"), Range: text("range"),
			Priority: number("priority"), MaxCPUs: number("max_cpus"), Umask: number("umask"), Chunk: rapid.Int().Draw(t, "chunk"), Notes: text("notes"),
			Hosts: rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "hosts"), Env: map[string]string{text("variable"): text("value")}, Tags: map[string]string{"prod_show": text("show")},
		}
		given := want
		given.User, given.PGrp, given.PID = "ada", 7, 8
		if err := WriteFile(name, api.JobArchive{Submission: given}); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.SubmitRequest); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the file: %v, %v", info.Mode(), err)
	}
}

const xja = `<?xml version="1.0" encoding="UTF-8"?>
<object type='job'>
  <id>530</id><pid>1</pid><pgrp>530</pgrp><label>qube0</label><name>beauty &lt;v2&gt;</name>
  <prototype>cmdrange</prototype><priority>50</priority><cpus>4</cpus><max_cpus>-1</max_cpus>
  <status>272</status><cluster>/show/seq</cluster><account></account><flags>65545</flags>
  <reservations>host.processors=2</reservations><requirements>host.os = "linux"</requirements>
  <hosts></hosts><omithosts>rn01,rn02</omithosts><timelimit>-1</timelimit><agenda_timelimit>600</agenda_timelimit>
  <retrywork>2</retrywork><retrysubjob>-1</retrysubjob><prod_show>dune</prod_show><kind>maya</kind>
  <env><object type='env'><cwd>/x</cwd></object><cwd>/proj</cwd><env><PROJ>dune</PROJ></env></env>
  <package><cmdline>render -f QB_FRAME_NUMBER scene.ma</cmdline><range>1-100</range><padding>4</padding><rangeChunkSize>5</rangeChunkSize></package>
  <agenda><item><name>1-5</name><status>320</status></item><item><name>6-10</name></item></agenda>
  <callbacks><item><language>9</language><triggers>done-job-self</triggers></item></callbacks>
</object>`

func TestReadsQubesArchive(t *testing.T) {
	got, err := Read([]byte(xja))
	if err != nil {
		t.Fatal(err)
	}
	priority, cpus, unlimited, retries := 50, 4, -1, 2
	want := api.SubmitRequest{
		Name: "beauty <v2>", Label: "qube0", Command: []string{"render -f QB_FRAME_NUMBER scene.ma"}, Shell: true, Cwd: "/proj", Env: map[string]string{"PROJ": "dune"},
		Range: "1-100", Padding: 4, Chunk: 5, Priority: &priority, CPUs: &cpus, MaxCPUs: &unlimited, RetryWork: &retries, Cluster: "/show/seq", Status: "blocked",
		Reservations: "host.processors=2", Requirements: `host.os = "linux"`, OmitHosts: []string{"rn01", "rn02"}, AgendaTimeLimit: 600, Kind: "maya",
		Tags: map[string]string{"prod_show": "dune"}, Flags: []string{"migrate_on_frame_retry", "uninterruptible"},
	}
	if diff := cmp.Diff(want, got.SubmitRequest); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Remarks) != 1 || !strings.HasPrefix(got.Remarks[0], "callbacks") {
		t.Errorf("remarks: %q", got.Remarks)
	}
	short, err := Read([]byte(`<job><object type='job'><data>(=(cmdline=sleep \(1\))(range=1-3))</data></object></job>`))
	if err != nil || short.Command[0] != "sleep (1)" || short.Range != "1-3" {
		t.Errorf("an encoded package becomes %+v, %v", short, err)
	}
}

// Files that are wrong, or made to hurt, are refused with the reason.
func TestBadFiles(t *testing.T) {
	deep := strings.Repeat("<a>", 100)
	for text, want := range map[string]string{
		"": "no job archive", "hello": "no job archive", "{": "as JSON", `{"format":"x"}`: "format is", `{"format":"qb-job","version":9}`: "version 9",
		`{"format":"qb-job","version":1}`: "no command", `{"format":"qb-job","version":1,"submission":{"command":["a"]}} x`: "something follows",
		"<a>": "as XML", "<a/>": "object type='job'", deep: "deep", "<object type='job'/>": "no cmdline",
		`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><object type='job'><name>&e;</name></object>`: "document type",
		`<object type='job'><name>&e;</name></object>`:                                                       "as XML", strings.Repeat(" ", 5) + "{" + strings.Repeat(" ", maxFile): "larger",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}
