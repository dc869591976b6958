package fit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

var now = time.Unix(1_000_000, 0)

// idle is a host on which nothing runs.
type idle struct{}

func (idle) Used() int            { return 0 }
func (idle) Unused() int64        { return 1 << 30 }
func (idle) Duty(string) []string { return nil }

// jobOf reads a job's texts.
func jobOf(t interface{ Fatal(...any) }, row facts.JobFacts) *fit.Job {
	n, err := fit.Read(row, fit.Site{Known: fit.Known(slices.Values([]*fit.Host{})), Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	return &fit.Job{JobFacts: &row, Needs: n}
}

// TestRefusals: each code with its sentence, of one host and of several that differ.
func TestRefusals(t *testing.T) {
	h := &fit.Host{HostFacts: facts.HostFacts{ID: "a", Slots: 2, Memory: 1 << 30, Cluster: "/x", Groups: []string{"old"}, Resources: map[string]int{"gpus": 1}},
		Refuses: map[string]fit.Refuses{"ann": {Until: now.Add(1)}, "bob": {Until: now.Add(1), Failed: 3}, "eve": {Until: now}}}
	h.Lacks.Note(now, fit.Lack{Folder: "/gone"})
	h.Lacks.Note(now, fit.Lack{Folder: "/home/joe", User: "joe"})
	h.Lacks.Note(now, fit.Lack{Job: 7})
	for _, tc := range []struct {
		row         facts.JobFacts
		kind        facts.Reason
		text, mixed string
	}{
		{facts.JobFacts{User: "eve"}, "", "", ""},
		{facts.JobFacts{User: "ann"}, facts.ReasonUserRefused, "no items of ann until 13:46 UTC, an item could not run there", "no items of ann for a while, items failed or could not run there"},
		{facts.JobFacts{User: "bob"}, facts.ReasonUserRefused, "no items of bob until 13:46 UTC, 3 failures", "no items of bob for a while, items failed or could not run there"},
		{facts.JobFacts{Cwd: "/gone"}, facts.ReasonFolderMissing, "the job's working folder /gone is missing there", ""},
		{facts.JobFacts{User: "joe", Cwd: "/home/joe"}, facts.ReasonFolderDenied, "the job's working folder /home/joe is closed to joe there", ""},
		{facts.JobFacts{User: "amy", Cwd: "/home/joe"}, "", "", ""},
		{facts.JobFacts{ID: 7, Cwd: "/"}, facts.ReasonEnvironment, "an environment of the job could not be entered there", ""},
		{facts.JobFacts{ID: 8}, "", "", ""},
		{facts.JobFacts{Hosts: []string{"b"}}, facts.ReasonNotInHosts, "not in the job's hosts", ""},
		{facts.JobFacts{OmitHosts: []string{"a"}}, facts.ReasonInOmitHosts, "in the job's omithosts", ""},
		{facts.JobFacts{Groups: []string{"new"}}, facts.ReasonNotInGroups, "in none of the job's groups", ""},
		{facts.JobFacts{OmitGroups: []string{"old"}}, facts.ReasonInOmitGroups, "in one of the job's omitgroups", ""},
		{facts.JobFacts{Restrictions: "/y"}, facts.ReasonRestricted, "cluster /x is not within the job's restrictions /y", "cluster is not within the job's restrictions /y"},
		{facts.JobFacts{Reservations: "host.processors=3"}, facts.ReasonTooFewSlots, "has 2 slots, an instance takes 3", "too few slots, an instance takes 3"},
		{facts.JobFacts{Reservations: "host.memory=2GB"}, facts.ReasonTooLittleMemory, "has 1 GiB of memory, an instance takes 2 GiB", "too little memory, an instance takes 2 GiB"},
		{facts.JobFacts{Reservations: "host.gpus=2"}, facts.ReasonTooLittle, "has 1 of host.gpus, an instance takes 2", "too little of host.gpus, an instance takes 2"},
		{facts.JobFacts{Requirements: "host.gpus > 1"}, facts.ReasonRequirement, "host.gpus > 1 does not hold (host.gpus is 1)", "host.gpus > 1 does not hold"},
	} {
		r := jobOf(t, tc.row).Refused(now, h, idle{})
		if r.Kind != tc.kind || r.String() != tc.text || r.Serves() != (tc.kind == "") {
			t.Errorf("%+v: %q, %q", tc.row, r.Kind, r)
		}
		if tc.mixed == "" {
			tc.mixed = tc.text
		}
		if r.Mixed = true; r.String() != tc.mixed {
			t.Errorf("%+v, of several hosts: %q", tc.row, r)
		}
	}
	h.RunAs, h.AgentUser = "agent", "ann"
	if r := jobOf(t, facts.JobFacts{User: "bob"}).Refused(now, h, idle{}); r.String() != `the worker runs jobs of ann only, not of bob (worker_run_as = "agent")` {
		t.Errorf("%q", r)
	}
}

// TestKeys: every host refuses jobs of one key alike.
func TestKeys(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(name string, texts ...string) string { return rapid.SampledFrom(texts).Draw(rt, name) }
		list := func(name string, texts ...string) []string {
			if texts == nil {
				texts = []string{"", "x", "x,y"}
			}
			return facts.SplitList(pick(name, texts...))
		}
		var hosts []*fit.Host
		for n := range rapid.IntRange(1, 5).Draw(rt, "hosts") {
			h := &fit.Host{HostFacts: facts.HostFacts{ID: facts.HostID(pick("name", "x", "y", "z")), Slots: 1 + n, Memory: int64(rapid.IntRange(0, 4).Draw(rt, "memory")) << 30, Cluster: pick("cluster", "/", "/x"),
				Groups: list("groups"), Resources: map[string]int{"gpus": n}}}
			h.Take(systemOf(h.HostFacts, pick("os", "", "linux", "windows"), pick("path map", "", "P:=/mnt/p", "/mnt/p=P:", `"P:=/mnt/p",Q:=/mnt/q`)))
			if rapid.IntRange(0, 9).Draw(rt, "refuses") == 0 {
				h.Refuses = map[string]fit.Refuses{"ann": {Until: now.Add(1)}}
			}
			if user := pick("lacking", "nobody", "", "ann"); user != "nobody" {
				h.Lacks.Note(now, fit.Lack{Folder: "/proj", User: user})
			}
			if job := rapid.IntRange(0, 5).Draw(rt, "not entered"); job > 0 {
				h.Lacks.Note(now, fit.Lack{Job: facts.JobID(job)})
			}
			hosts = append(hosts, h)
		}
		keys := fit.KeysOf(slices.Values(hosts))
		said := map[string]string{}
		for n := range 20 {
			j := jobOf(rt, facts.JobFacts{ID: facts.JobID(n + 1), User: pick("user", "ann", "bob"), Cwd: pick("cwd", "", "/proj", "/other", `P:\x`, `Q:\x`, "/mnt/p"), System: pick("system", "", "any", "linux", "darwin", "windows"), PathMap: list("path map of the job", "", "P:=/mnt/p", "/mnt/p=P:"), Flags: list("flags", "", "convert_path"), Hosts: list("asked"), OmitHosts: list("omitted"), Groups: list("in"), OmitGroups: list("not in"),
				Restrictions: pick("restrictions", "", "/x"), Reservations: pick("reservations", "", "host.processors=2", "host.gpus=2", "host.memory=2GB"),
				Requirements: pick("requirements", "", "host.gpus > 1", "job.id < 9")})
			j.Learned = int64(rapid.IntRange(0, 4<<10).Draw(rt, "learned")) << 20
			text := ""
			for _, h := range hosts {
				text += fmt.Sprintln(j.Refused(now, h, idle{}).Alike().Kind)
			}
			key := keys.Of(j)
			if was, known := said[key]; known && was != text {
				rt.Fatalf("jobs of key %q: %s, and %s", key, was, text)
			}
			said[key] = text
		}
	})
}

// systemOf is a host of a system with a path map.
func systemOf(row facts.HostFacts, system, paths string) facts.HostFacts {
	row.Properties = map[string]string{"path_map": paths}
	if system != "" {
		row.Properties["os"] = system
	}
	return row
}

// TestSystems: a job goes to a host of the other family only if all its paths are mapped there, by itself or by the
// host, or if it says that it may.
func TestSystems(t *testing.T) {
	t.Parallel()
	const unmapped = "where no path map has "
	for _, tc := range []struct {
		name            string
		row             facts.JobFacts
		host, paths, no string // no: part of the refusal; empty: the host serves the job
	}{
		{"the same system", facts.JobFacts{System: "linux", Cwd: "/proj"}, "linux", "", ""},
		{"one family", facts.JobFacts{System: "darwin", Cwd: "/Users/ann"}, "linux", "", ""},
		{"no system", facts.JobFacts{Cwd: `P:\x`}, "linux", "", ""},
		{"any", facts.JobFacts{System: "any", Cwd: `P:\x`}, "linux", "", ""},
		{"a host that does not say", facts.JobFacts{System: "windows", Cwd: `P:\x`}, "", "", ""},
		{"no map", facts.JobFacts{System: "windows", Cwd: `P:\x y`}, "linux", "", "the job is for windows and the host runs linux, " + unmapped + `P:\x;`},
		{"no paths and no map", facts.JobFacts{System: "windows", Command: []string{"hython"}}, "linux", "", "-system any lets it run there"},
		{"no paths, and a map", facts.JobFacts{System: "windows", Command: []string{"hython"}, PathMap: []string{"P:=/mnt/p"}}, "linux", "", ""},
		{"a map of the job", facts.JobFacts{System: "windows", Cwd: `p:\x`, PathMap: []string{"P:=/mnt/p"}}, "linux", "", ""},
		{"a map of the job for its own family", facts.JobFacts{System: "windows", Cwd: `P:\x`, PathMap: []string{"P:=Q:"}}, "linux", "", unmapped + `P:\x`},
		{"half a map", facts.JobFacts{System: "windows", Cwd: `P:\x`, Command: []string{"render", `--out=Q:\y`}, PathMap: []string{"P:=/mnt/p"}}, "linux", "", unmapped + `Q:\y`},
		{"a program of Windows", facts.JobFacts{System: "windows", Cwd: `P:\`, Command: []string{`C:\Program Files\r.exe`}, PathMap: []string{"P:=/mnt/p"}}, "linux", "", unmapped + `C:\Program`},
		{"a file to check", facts.JobFacts{System: "windows", Cwd: `P:\`, Validate: []string{`Q:\a.exr:1K`}, PathMap: []string{"P:=/mnt/p"}}, "linux", "", unmapped + `Q:\a.exr:1K`},
		{"a check", facts.JobFacts{System: "windows", Cwd: `P:\`, Preflights: []string{`test -e "Q:\a b"`}, PathMap: []string{"P:=/mnt/p"}}, "linux", "", unmapped + `Q:\a`},
		{"an exported environment", facts.JobFacts{System: "windows", Flags: []string{"export_environment"}, Cwd: `P:\`, Env: map[string]string{"TEMP": `C:\T`}, PathMap: []string{"P:=/mnt/p"}}, "linux", "", ""},
		{"a variable", facts.JobFacts{System: "windows", Cwd: `P:\`, Env: map[string]string{"OUT": `Q:\o`}, PathMap: []string{"P:=/mnt/p"}}, "linux", "", unmapped + "a path in the variable OUT;"},
		{"a line for a shell", facts.JobFacts{System: "windows", Cwd: `P:\`, Command: []string{"sh", "-c", `render "Q:\a b"`}, PathMap: []string{"P:=/mnt/p"}}, "linux", "", unmapped + `Q:\a`},
		{"the host's map unasked", facts.JobFacts{System: "windows", Cwd: `P:\x`}, "linux", "P:=/mnt/p", unmapped + `P:\x`},
		{"the host's map", facts.JobFacts{System: "windows", Cwd: `P:\x`, Flags: []string{"convert_path"}}, "linux", `"P:=/mnt/p,1"`, ""},
		{"another map of the host", facts.JobFacts{System: "windows", Cwd: `P:\x`, Flags: []string{"convert_path"}}, "linux", "Q:=/mnt/q", unmapped + `P:\x`},
		{"both maps", facts.JobFacts{System: "windows", Cwd: `P:\x`, Command: []string{`Q:\y`}, PathMap: []string{"Q:=/mnt/q"}, Flags: []string{"convert_path"}}, "linux", "P:=/mnt/p", ""},
		{"to Windows", facts.JobFacts{System: "linux", Cwd: "/mnt/p", Command: []string{"render", "a/b", "-x"}, PathMap: []string{"/mnt/p=P:"}}, "windows", "", ""},
		{"to Windows with a program of Linux", facts.JobFacts{System: "linux", Cwd: "/mnt/p", Command: []string{"/bin/sh", "-c", "true"}, PathMap: []string{"/mnt/p=P:"}}, "windows", "", "the host runs windows, " + unmapped + "/bin/sh"},
	} {
		h := &fit.Host{}
		h.Take(systemOf(facts.HostFacts{ID: "a", Slots: 1}, tc.host, tc.paths))
		r := jobOf(t, tc.row).Refused(now, h, idle{})
		if r.Serves() != (tc.no == "") || !strings.Contains(r.String(), tc.no) || !r.Serves() && r.Kind != facts.ReasonSystem {
			t.Errorf("%s: %q, %q", tc.name, r.Kind, r)
		}
	}
}

// TestPathRemarks: paths of Windows that would reach hosts of Linux as they are.
func TestPathRemarks(t *testing.T) {
	t.Parallel()
	host := func(system, paths string) *fit.Host {
		h := &fit.Host{}
		h.Take(systemOf(facts.HostFacts{ID: facts.HostID(system)}, system, paths))
		return h
	}
	linux, windows, mapping := host("linux", ""), host("windows", ""), host("linux", "P:=/mnt/p")
	command := []string{"render", `P:\a b.ma`}
	for _, tc := range []struct {
		name  string
		row   facts.JobFacts
		hosts []*fit.Host
		want  string
	}{
		{"no map", facts.JobFacts{Command: command}, []*fit.Host{linux}, `P:\a: no path map has this path of Windows`},
		{"any system", facts.JobFacts{System: "any", Command: command}, []*fit.Host{linux}, `P:\a: no path`},
		{"a host of Windows", facts.JobFacts{Command: command}, []*fit.Host{linux, windows}, ""},
		{"no hosts", facts.JobFacts{Command: command}, nil, ""},
		{"its own map", facts.JobFacts{Command: command, PathMap: []string{"p:=/mnt/p"}}, []*fit.Host{linux}, ""},
		{"a host's map", facts.JobFacts{Command: command, Flags: []string{"convert_path"}}, []*fit.Host{linux, mapping}, ""},
		{"a host's map unasked", facts.JobFacts{Command: command}, []*fit.Host{mapping}, `P:\a: no path`},
		{"meant for Linux", facts.JobFacts{System: "linux", Command: command}, []*fit.Host{linux}, `P:\a: no path`},
		{"a variable's value is not shown", facts.JobFacts{Env: map[string]string{"KEY": `Q:\secret`}}, []*fit.Host{linux}, "a path in the variable KEY: no path"},
		{"it waits for a host instead", facts.JobFacts{System: "windows", Command: command}, []*fit.Host{linux}, ""},
		{"no path", facts.JobFacts{Command: []string{"grep", `^a:\s`}}, []*fit.Host{linux}, ""},
	} {
		got := strings.Join(jobOf(t, tc.row).PathRemarks(slices.Values(tc.hosts)), "|")
		if !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

// TestLesserJobs: a job that asks for nothing is refused nowhere, and asking for less leaves the job as it was.
func TestLesserJobs(t *testing.T) {
	j := jobOf(t, facts.JobFacts{Hosts: []string{"b"}, Restrictions: "/y", Reservations: "host.processors=3,host.gpus=2", Requirements: "host.gpus > 1"})
	h := &fit.Host{HostFacts: facts.HostFacts{ID: "a", Slots: 1, Cluster: "/x"}}
	if bare := j.Bare(); !bare.Refused(now, h, idle{}).Serves() || len(j.Hosts) != 1 || j.Slots != 3 || len(j.Takes) != 1 {
		t.Errorf("%+v of %+v", bare, j)
	}
	for _, tc := range []struct{ free, used, slots int }{{2, 0, 0}, {3, 1, 3}, {9, 0, 3}} {
		if n := j.Grant(tc.free, tc.used); n != tc.slots {
			t.Errorf("%+v: %d", tc, n)
		}
	}
	all := jobOf(t, facts.JobFacts{Reservations: "host.processors=1+"})
	if n := all.Grant(7, 2); n != 7 || all.Most != agenda.Unlimited {
		t.Errorf("all slots are %d of 7", n)
	}
	if n := j.Startable(true, func(string) int64 { return 5 }); n != 2 {
		t.Errorf("5 GPUs are enough for %d instances of 2", n)
	}
}

// TestFoldersAreBounded: a host remembers so many working folders that it lacks, for a while; it is reported once, for
// three different items.
func TestFoldersAreBounded(t *testing.T) {
	var l fit.Lacks
	noted := 0
	for n := range 1000 {
		if l.Note(now, fit.Lack{Folder: fmt.Sprint("/", n)}) {
			noted++
		}
	}
	if noted != 256 || !l.Note(now, fit.Lack{Folder: "/0"}) {
		t.Errorf("%d are remembered", noted)
	}
	both := &facts.JobFacts{ID: 7, Cwd: "/0"}
	if !l.FolderWorks(both) || l.FolderWorks(both) || !l.Note(now, fit.Lack{Job: 7}) || l.FolderWorks(both) || !l.AllWorks(both) {
		t.Error("what works is not forgotten, or an environment with a folder")
	}
	if l.Pass(now.Add(fit.RefusedFor-1)) || !l.Any() || !l.Pass(now.Add(fit.RefusedFor)) || l.Any() {
		t.Error("it is remembered for another time")
	}
	told := 0
	for _, id := range []facts.AttemptID{{Job: 1, Item: 1, Number: 1}, {Job: 1, Item: 1, Number: 2}, {Job: 1, Item: 2, Number: 1}, {Job: 2, Item: 1, Number: 1}, {Job: 3, Item: 1, Number: 1}} {
		if l.Blame(now, fit.Lack{Folder: "/x"}, id) {
			told++
			if id.Job != 2 {
				t.Errorf("it is reported at %+v", id)
			}
		}
	}
	if _, reported := l.Reported(now.Add(time.Hour)); told != 1 || !reported {
		t.Errorf("reported %d times; %v", told, reported)
	}
	if _, reported := l.Reported(now.Add(time.Hour + 1)); reported {
		t.Error("it is reported for ever")
	}
}

// The speed of a processor is a number, where the worker has reported one.
func TestProcessorSpeed(t *testing.T) {
	row := facts.JobFacts{Requirements: "host.processor_speed > 3000"}
	for speed, fits := range map[string]bool{"3600": true, "2400": false, "": false, "fast": false} {
		needs, err := fit.Read(row, fit.Site{Known: fit.Properties})
		if err != nil {
			t.Fatal(err)
		}
		h := &fit.Host{HostFacts: facts.HostFacts{Slots: 1, Properties: map[string]string{"processor_speed": speed}}}
		j := &fit.Job{JobFacts: &row, Needs: needs}
		if got := len(j.Failing(h, nil)) == 0; got != fits {
			t.Errorf("%q MHz: fits %v", speed, got)
		}
	}
}
