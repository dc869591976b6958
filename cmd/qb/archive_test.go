package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"qb/agenda"
	"qb/api"
)

// What is written is read again as it was, except for what belongs to the farm that it came from.
func TestArchiveRoundTrip(t *testing.T) {
	name := filepath.Join(t.TempDir(), "job.json")
	rapid.Check(t, func(t *rapid.T) {
		// NUL is refused by readArchive, see doors.txtar.
		character := rapid.Rune().Filter(func(r rune) bool { return r != 0 })
		some := rapid.StringOf(character)
		text := func(label string) string { return rapid.StringOfN(character, 0, 20, -1).Draw(t, label) }
		number := func(label string) *int {
			if !rapid.Bool().Draw(t, label+" given") {
				return nil
			}
			n := rapid.Int().Draw(t, label)
			return &n
		}
		want := api.SubmitRequest{
			Name: text("name"), Command: append([]string{"a"}, rapid.SliceOf(some).Draw(t, "command")...), Shell: rapid.Bool().Draw(t, "shell"), Range: text("range"),
			Priority: number("priority"), MaxCPUs: number("max_cpus"), Umask: number("umask"), Chunk: rapid.Int().Draw(t, "chunk"), Notes: text("notes"),
			Hosts: rapid.SliceOfN(some, 1, 4).Draw(t, "hosts"), Env: map[string]string{text("variable"): text("value")}, Tags: map[string]string{"prod_show": text("show")},
		}
		given := want
		given.User, given.PGrp, given.PID = "ada", 7, 8
		if err := writeArchive(name, api.JobArchive{Submission: given}); err != nil {
			t.Fatal(err)
		}
		got, err := readArchive(name)
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

// TestItemsThatWereHeld: an import remarks on items that were blocked one by one, as a submission cannot block them; a
// job that was blocked as a whole comes back blocked.
func TestItemsThatWereHeld(t *testing.T) {
	for _, c := range []struct {
		status  string
		blocked int
		told    bool
	}{{"running", 0, false}, {"running", 3, true}, {"pending", 1, true}, {"killed", 2, true}, {"blocked", 3, false}, {"suspended", 3, false}} {
		job := api.Job{Status: c.status}
		job.Items.Blocked = c.blocked
		name := filepath.Join(t.TempDir(), "job.json")
		if err := writeArchive(name, api.JobArchive{Submission: api.SubmitRequest{Command: []string{"true"}}, Job: &job}); err != nil {
			t.Fatal(err)
		}
		got, err := readArchive(name)
		if told := strings.Contains(strings.Join(got.Remarks, ""), fmt.Sprint(c.blocked)); err != nil || told != c.told {
			t.Errorf("%+v: %q, %v", c, got.Remarks, err)
		}
	}
}

const qubesArchive = `<?xml version="1.0" encoding="UTF-8"?>
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
	got, err := parseArchive([]byte(qubesArchive))
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
	short, err := parseArchive([]byte(`<job><object type='job'><data>(=(cmdline=sleep \(1\))(range=1-3))</data></object></job>`))
	if err != nil || short.Command[0] != "sleep (1)" || short.Range != "1-3" {
		t.Errorf("an encoded package becomes %+v, %v", short, err)
	}
}

// TestAgendasOfQubesArchive: whatever items an agenda has, the job that is read has just these, or a remark says that
// it has others. The items that a chunk or partitions made come back without one.
func TestAgendasOfQubesArchive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.OneOf(rapid.StringMatching(`-?[1-9][0-9]?`), rapid.StringMatching(`[1-9][0-9]?-[1-9][0-9]?(x[2-5])?`), rapid.StringMatching(`[a-f]`))
		spec := agenda.Spec{Range: strings.Join(rapid.SliceOfN(entry, 1, 5).Draw(t, "range"), ",")}
		made := rapid.Bool().Draw(t, "made by a division")
		var names []string
		if made {
			if rapid.Bool().Draw(t, "chunks") {
				spec.Chunk = rapid.IntRange(1, 9).Draw(t, "chunk")
			} else {
				spec.Partitions = rapid.IntRange(1, 9).Draw(t, "partitions")
			}
			names = strings.Split(itemNames(spec), "\n")
		} else {
			names = strings.Split(spec.Range, ",")
		}
		text := `<?xml version="1.0" encoding="us-ascii"?><object type='job'><package><cmdline>r</cmdline>`
		if made && rapid.Bool().Draw(t, "with the range") {
			text += "<range>" + spec.Range + "</range>"
		}
		text += "</package><agenda>"
		for _, name := range names {
			text += "<item><name>" + name + "</name></item>"
		}
		got, err := parseArchive([]byte(text + "</agenda></object>"))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, name := range names {
			want = append(want, itemNames(agenda.Spec{Range: name, Partitions: 1}))
		}
		same := itemNames(agenda.Spec{Range: got.Range, Chunk: got.Chunk, Partitions: got.Partitions}) == strings.Join(want, "\n")
		if same != (len(got.Remarks) == 0) || made && !same {
			t.Fatalf("%q became -range %s -chunk %d -partitions %d, %q", names, got.Range, got.Chunk, got.Partitions, got.Remarks)
		}
	})
	got, err := parseArchive([]byte("<?xml version='1.0' encoding='ISO-8859-1'?><object type='job'><name>" + strings.Repeat("\xe9t", 3000) + "</name><package><cmdline>r</cmdline></package></object>"))
	if err != nil || got.Name != strings.Repeat("ét", 3000) {
		t.Errorf("Latin-1: %.20q, %v", got.Name, err)
	}
}

// Files that are wrong, or made to hurt, are refused with the reason.
func TestBadArchives(t *testing.T) {
	deep := strings.Repeat("<a>", 100)
	for text, want := range map[string]string{
		"": "no job archive", "hello": "no job archive", "{": "as JSON", `{"format":"x"}`: "format is", `{"format":"qb-job","version":9}`: "version 9",
		`{"format":"qb-job","version":1}`: "no command", `{"format":"qb-job","version":1,"submission":{"command":["a"]}} x`: "something follows",
		"<a>": "as XML", "<a/>": "object type='job'", deep: "deep", "<object type='job'/>": "no cmdline",
		`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><object type='job'><name>&e;</name></object>`: "document type",
		`<object type='job'><name>&e;</name></object>`:                                                       "as XML", strings.Repeat(" ", 5) + "{" + strings.Repeat(" ", maxArchive): "larger",
	} {
		if _, err := parseArchive([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}
