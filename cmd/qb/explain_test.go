package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qb/api"
)

// waiting is a job that waits, what is said of it, and what would help. In patterns and words @NAME is the id of
// that blocker.
type waiting struct {
	kind   string
	ask    string // members of the submission besides those of every one
	status string
	reason string   // the whole sentence
	facts  []string // each is a whole line of the explanation: "kind text"
	mend   string   // members of a modification, or the word of an order, that it suggests
	after  string   // what is said then; "": nothing waits or one instance runs
}

// explainRig asks a mixed farm by REST, which costs a test less than a program per question.
type explainRig struct {
	t    *testing.T
	farm *testFarm
	c    *api.Client
	user string
	ids  map[string]string
}

func startExplainRig(t *testing.T) *explainRig {
	f, users := startMixed(t)
	data, err := os.ReadFile(filepath.Join(f.state, "farm.json"))
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		URL       string `json:"url"`
		TokenFile string `json:"token_file"`
	}
	if err := json.Unmarshal(data, &found); err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(found.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	c, err := api.NewClient(found.URL, strings.TrimSpace(string(token)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return &explainRig{t: t, farm: f, c: c, user: users[0], ids: map[string]string{}}
}

func (r *explainRig) call(e api.Endpoint, job string, in, out any) {
	r.t.Helper()
	params := api.Params{}
	for _, name := range []string{"job", "host"} {
		if strings.Contains(e.Path, "{"+name+"}") {
			params[name] = job
		}
	}
	if action, ok := in.(string); ok {
		params["action"], in = action, api.ActionRequest{}
	}
	if err := r.c.Call(r.t.Context(), e, params, in, out); err != nil {
		r.t.Fatalf("%s %s %v: %v", e.ID, job, in, err)
	}
}

// named puts ids in place of names.
func (r *explainRig) named(text string) string {
	for _, name := range slices.Sorted(maps.Keys(r.ids)) {
		text = strings.ReplaceAll(text, "@"+name, r.ids[name])
	}
	return strings.ReplaceAll(text, "@user", r.user)
}

func members(text string) map[string]any {
	m := map[string]any{}
	if err := json.Unmarshal([]byte("{"+text+"}"), &m); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err)) // the test's own text
	}
	return m
}

// submit submits a job that sleeps; unless it says otherwise it has nine items, one of which may run.
func (r *explainRig) submit(ask string) string {
	body := members(`"command": ["sleep", "600"], "cwd": "/", "range": "1-9", "max_cpus": 0, "priority": 5`)
	body["user"] = r.user
	if strings.Contains(ask, `"max_cpus": null`) {
		delete(body, "max_cpus")
	}
	for name, value := range members(r.named(ask)) {
		if value != nil {
			body[name] = value
		}
	}
	var reply api.SubmitReply
	r.call(api.Submit, "", body, &reply)
	return strconv.FormatInt(reply.Job, 10)
}

func (r *explainRig) block(name, ask string, runs int) {
	r.ids[name] = r.submit(ask)
	r.farm.until(name+" runs", func() bool { return r.job(r.ids[name]).Items.Running == runs })
}

func (r *explainRig) job(id string) (j api.Job) {
	r.call(api.GetJob, id, nil, &j)
	return j
}

// kill ends jobs and waits until their slots are free.
func (r *explainRig) kill(ids ...string) {
	for _, id := range ids {
		r.call(api.OrderJob, id, "kill", nil)
	}
	for _, id := range ids {
		r.farm.until(id+" has ended", func() bool { return r.job(id).FinishedAt != nil })
	}
}

// says waits until the explanation of a job is that sentence, and returns all of it.
func (r *explainRig) says(kind, id, pattern string) api.Explanation {
	r.t.Helper()
	whole := regexp.MustCompile("^(?:" + r.named(pattern) + ")$")
	var e api.Explanation
	r.farm.until(kind, func() bool {
		r.call(api.Explain, id, nil, &e)
		if r.t.Failed() || whole.MatchString(e.Reason) {
			return true
		}
		r.farm.last = fmt.Sprintf("the reason is\n%s\nand not\n%s\n%+v", e.Reason, whole, e.Facts)
		return false
	})
	return e
}

// try submits the job, reads what is said, does what is suggested and sees that it helps.
func (r *explainRig) try(w waiting) {
	r.t.Helper()
	id := r.submit(w.ask)
	e := r.says(w.kind, id, w.reason)
	r.farm.until(w.kind+" is listed as it is explained", func() bool {
		j := r.job(id)
		r.farm.last = fmt.Sprintf("status %s, want %s; the listing says %q, the explanation %q", j.Status, w.status, j.Reason, e.Reason)
		return j.Status == w.status && j.Reason == e.Reason
	})
	lines := make([]string, len(e.Facts))
	for n, f := range e.Facts {
		lines[n] = f.Kind + " " + f.Text
	}
	for _, want := range w.facts {
		if !slices.Contains(lines, r.named(want)) {
			r.t.Errorf("%s: no fact %q in\n%s", w.kind, r.named(want), strings.Join(lines, "\n"))
		}
	}
	switch {
	case w.mend == "":
	case strings.HasPrefix(w.mend, `"`):
		r.call(api.Modify, id, members(w.mend), nil)
	default:
		r.call(api.OrderJob, id, w.mend, nil)
	}
	switch {
	case w.after != "":
		r.says(w.kind+", mended", id, w.after)
	case w.mend != "":
		r.farm.until(w.kind+" runs as suggested", func() bool { return r.job(id).Items.Running > 0 })
	}
	r.kill(id)
}

// oneRuns is said of a job of which as many run as may.
const oneRuns = `this job already has all it may have: 1 instance \(cpus 1, max_cpus 0\)`

// takenByB3 is said of host a, whose two slots job B3 holds.
const takenByB3 = `all 2 slots that fit are taken by primaries of job @B3 at equal priority; `

// Of hosts a (2 slots, 512 MiB, old), b (3, 1 GiB, old and fast, a GPU) and c (7, 2 GiB, fast, two GPUs, attic) a is
// full, b is free, and c has one slot, 528 MiB, no GPU, 5 GiB of scratch and, as the farm, one licence left.
var waitingJobs = []waiting{
	{kind: "dependency", ask: `"dependency": "link-complete-job-@B3"`, status: "blocked", reason: "waits for job @B3 to be complete", mend: "unblock"},
	{kind: "held", ask: `"status": "blocked"`, status: "blocked", reason: "blocked by \\S+", mend: "unblock"},
	{kind: "host list", ask: `"hosts": ["a"]`, status: "pending",
		reason: takenByB3 + "without -hosts 2 more hosts would fit, with room now",
		facts:  []string{"also this job has 0 of its 1 primaries and gets the next slots in order of priority", "clause 1 of 3 hosts is in the job's hosts", "holder job @B3 (equal priority, 5) holds 2 of the slots that fit: 2 by primaries", "slots 2 slots on those hosts, 0 free", "refused 2 hosts (b, …): not in the job's hosts"},
		mend:   `"hosts": []`},
	{kind: "omit list", ask: `"omithosts": ["b","c"]`, status: "pending",
		reason: takenByB3 + "without -omithosts 2 more hosts would fit, with room now", mend: `"omithosts": []`},
	{kind: "groups", ask: `"groups": ["gpu"]`, status: "pending",
		reason: `no host is in the group gpu; without -groups 3 hosts would fit, 2 with room now`,
		facts:  []string{"clause 0 of 3 hosts are in one of the job's groups (gpu)"}, mend: `"groups": ["fast"]`},
	{kind: "omitted groups", ask: `"omitgroups": ["fast"]`, status: "pending",
		reason: takenByB3 + "without -omitgroups 2 more hosts would fit, with room now", mend: `"omitgroups": []`},
	{kind: "requirements", ask: `"requirements": "host.site = attic and host.memory > 3GB"`, status: "pending",
		reason: `no host fits now; 2 hosts \(a, …\): host.site = attic does not hold \(host.site is not set\)`,
		facts:  []string{"clause host.site = attic holds on 1 of 3 hosts", "clause host.memory > 3GiB holds on 0 of 3 hosts", "change without host.memory > 3GiB 1 host would fit, with room now"}, mend: `"requirements": "host.site = attic"`},
	{kind: "restrictions", ask: `"restrictions": "/show"`, status: "pending",
		reason: `no host fits now; 3 hosts \(a, …\): cluster / is not within the job's restrictions /show`, mend: `"restrictions": ""`},
	{kind: "larger than any host", ask: `"reservations": "host.processors=9"`, status: "pending",
		reason: `no host fits now; 3 hosts \(a, …\): too few slots, an instance takes 9; with 7 slots 1 host would fit, without room now`,
		mend:   `"reservations": "host.processors=7"`, after: "c is being freed for this job, whose instances take 7 slots each.*"},
	{kind: "wide", ask: `"reservations": "host.processors=4"`, status: "pending",
		reason: `c is being freed for this job, whose instances take 4 slots each; with 3 slots 1 more host would fit, with room now`,
		facts:  []string{"clause 1 of 3 hosts has 4 slots", "also taken of the 7 slots that fit: 6 by primaries of jobs @B1 and @B2 at equal priority", "change with 1 slot there is room on c now"}, mend: `"reservations": "host.processors=3"`},
	{kind: "memory", ask: `"reservations": "host.memory=1200MB"`, status: "pending",
		reason: "an instance needs 1.2 GiB, the largest free memory is 528 MiB on c; with 1 GiB 1 more host would fit, with room now",
		facts:  []string{"clause 1 of 3 hosts has 1.2 GiB of memory", "change with 528 MiB there is room on c now"}, mend: `"reservations": "host.memory=528MB"`},
	{kind: "GPUs", ask: `"reservations": "host.gpus=2"`, status: "pending",
		reason: "no host that fits has 2 of host.gpus left; with 1 of host.gpus 1 more host would fit, with room now; job @B2 holds 2", mend: `"reservations": "host.gpus=1"`},
	{kind: "scratch", ask: `"reservations": "host.scratch=8GB"`, status: "pending",
		reason: "no host that fits has 8 GiB of host.scratch left; without host.scratch 2 more hosts would fit, 1 with room now",
		facts:  []string{"also the most left is 5 GiB on c", "also job @B2 holds 15 GiB", "change with 5 GiB of host.scratch there is room on c now"}, mend: `"reservations": "host.scratch=5GB"`},
	{kind: "licence", ask: `"reservations": "license.nuke=2"`, status: "pending",
		reason: "1 of 3 license.nuke are left, an instance takes 2; with 1 of license.nuke there is room for one more instance now", mend: `"reservations": "license.nuke=1"`},
	{kind: "cpus", ask: `"cpus": 1`, status: "running", reason: oneRuns,
		facts: []string{"change with qbmodify -mmax_cpus 9 it may run 9 wide"}, mend: `"max_cpus": 9`, after: "all 12 slots that fit are taken, 8 by primaries of jobs @B1, @B2 and @B3 at equal priority, 4 by this job"},
	{kind: "max_cpus", ask: `"max_cpus": 2`, status: "running", reason: `this job already has all it may have: 2 instances \(cpus 1, max_cpus 2\)`, mend: `"max_cpus": 3`,
		after: `this job already has all it may have: 3 instances \(cpus 1, max_cpus 3\)`},
}

// TestTwentyWaitingJobs reads on a real farm what is said of jobs that wait, each for another reason, does what is
// suggested and sees that it helps. docs/explain.md has them as a table.
func TestTwentyWaitingJobs(t *testing.T) {
	t.Parallel()
	r := startExplainRig(t)
	r.block("B1", `"hosts": ["c"], "cpus": 5, "reservations": "host.memory=300MB"`, 5)
	r.block("B2", `"hosts": ["c"], "reservations": "host.gpus=2,host.scratch=15GB,license.nuke=2"`, 1)
	r.block("B3", `"hosts": ["a"], "cpus": 2`, 2)
	for _, w := range waitingJobs {
		r.try(w)
	}
	if text := r.farm.run(0, "qb", "explain", r.ids["B1"]); !strings.HasPrefix(text, "job "+r.ids["B1"]+": this job already has all it may have: 5 instances (cpus 5, max_cpus 0)\n  items      4 wait, 5 run, 0 of 9 are complete\n") {
		t.Errorf("qb explain prints\n%s", text)
	}
	r.kill(r.ids["B3"])
	r.locked()
	r.kill(r.ids["B1"], r.ids["B2"])
	r.priorities()
	r.policies()
}

// locked: a host that would serve a job takes no work.
func (r *explainRig) locked() {
	r.call(api.LockHost, "a", nil, nil)
	id := r.submit(`"hosts": ["a"]`)
	r.says("locked host", id, `no host that takes work fits; a would serve this job, but is locked by \S+; without -hosts 2 hosts would fit, with room now`)
	r.call(api.UnlockHost, "a", nil, nil)
	r.says("unlocked host", id, oneRuns)
	r.kill(id)
}

// priorities: all slots are taken by primaries.
func (r *explainRig) priorities() {
	r.block("F", `"cpus": 12, "range": "1-50"`, 12)
	for priority, how := range map[int]string{9: "better", 5: "equal", 3: "worse"} {
		id := r.submit(fmt.Sprintf(`"priority": %d`, priority))
		r.says("priority", id, "all 12 slots that fit are taken by primaries of job @F at "+how+" priority")
		r.kill(id)
	}
	r.kill(r.ids["F"])
}

// policies: what the site has set keeps a job from more, until it sets it otherwise.
func (r *explainRig) policies() {
	const wide = `"max_cpus": null, "range": "1-50"`
	r.reread(`supervisor_max_cpus_limit = 3`)
	id := r.submit(wide)
	r.says("site limit", id, `this job already has all it may have: 3 instances \(cpus 1, supervisor_max_cpus_limit 3\)`)
	r.reread(`supervisor_smart_share_mode = "none"`)
	r.says("mode none", id, `this job already has all it may have: 1 instance \(cpus 1, SmartShare is off\)`)
	r.reread(`supervisor_smart_share_preempt_policy = "disabled"`)
	r.says("all of it", id, "this job already has all 12 slots of all hosts that take work now")
	r.ids["S"] = id
	other := r.submit(wide)
	r.says("policy disabled", other, "all 12 slots that fit are taken, 1 by primaries of job @S at equal priority, 11 by secondaries of job @S")
	r.reread("")
	r.says("policy aggressive", other, "all 12 slots that fit are taken, 6 by this job; this job already has its equal share of the surplus \\(5 instances\\)")
	r.kill(id, other)
	r.reread(`supervisor_smart_share_min_run = "1h"`)
	id = r.submit(`"max_cpus": 11, "range": "1-50"`)
	r.says("room for one", id, `this job already has all it may have: 11 instances \(cpus 1, max_cpus 11\)`)
	r.ids["S"] = id
	other = r.submit(wide)
	e := r.says("too young to be stopped", other, `all 12 slots that fit are taken, 10 by secondaries of job @S`)
	due := regexp.MustCompile(`^surplus slots are shared equally; 5 secondary instances are due to this job and it has 0, the others come in about 3\d\d\d s \(supervisor_smart_share_min_run and _settle\)$`)
	if !slices.ContainsFunc(e.Facts, func(f api.Fact) bool { return f.Kind == "also" && due.MatchString(f.Text) }) {
		r.t.Errorf("no fact says when its share comes: %+v", e.Facts)
	}
	r.reread("")
	r.says("old enough", other, "all 12 slots that fit are taken, 6 by this job; this job already has its equal share of the surplus \\(5 instances\\)")
	r.kill(id, other)
}

// reread has the farm take another key into force.
func (r *explainRig) reread(line string) {
	key, _, _ := strings.Cut(line, " = ")
	var lines []string
	for _, old := range strings.Split(mixedConf, "\n") {
		if name, _, _ := strings.Cut(old, " = "); name != key {
			lines = append(lines, old)
		}
	}
	file := filepath.Join(filepath.Dir(r.farm.state), "0.conf")
	if err := os.WriteFile(file, []byte(strings.Join(append(lines, line), "\n")), 0o644); err != nil {
		r.t.Fatal(err)
	}
	r.call(api.Reread, "", nil, nil)
}
