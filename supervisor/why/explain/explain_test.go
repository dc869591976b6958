package explain_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/job/licences"
	"qb/supervisor/share/planner"
	"qb/supervisor/why/explain"
)

// idle is a host on which nothing runs.
type idle struct{}

func (idle) Used() int            { return 0 }
func (idle) Unused() int64        { return 0 }
func (idle) Duty(string) []string { return nil }

// farmOf is a farm of idle hosts with one slot each, in these states, and one job that waits.
func farmOf(t *testing.T, row facts.JobFacts, states ...string) *explain.Farm {
	row.ID, row.CPUs, row.State, row.Agenda = 1, 1, facts.Active, agenda.Spec{Range: "1-9"}
	f := &explain.Farm{Now: time.Unix(1_000_000, 0), NeedIfAsked: func(_ facts.JobID, bytes int64) int64 { return bytes },
		Policy: explain.Policy{Share: planner.SharePolicy{MaxCPUsLimit: 9, DefaultMaxCPUs: -1, Mode: "jobs"}, Licences: licences.New(nil)}}
	var hosts []*fit.Host
	for n, state := range states {
		hosts = append(hosts, &fit.Host{HostFacts: facts.HostFacts{ID: facts.HostID(fmt.Sprint("h", n)), Slots: 1, Cluster: "/", Groups: []string{"old"}}})
		f.Hosts = append(f.Hosts, explain.Host{Host: hosts[n], Load: idle{}, State: state, Free: 1})
	}
	needs, err := fit.Read(row, fit.Site{Known: fit.Known(slices.Values(hosts))})
	if err != nil {
		t.Fatal(err)
	}
	f.Jobs = []explain.Job{{Job: fit.Job{JobFacts: &row, Needs: needs}, Items: 9, Pending: 9, Width: 9}}
	return f
}

// TestWhy: the code and the sentence of a job alone on idle hosts.
func TestWhy(t *testing.T) {
	for _, tc := range []struct {
		row    facts.JobFacts
		states []string
		code   facts.Reason
		text   string
	}{
		{facts.JobFacts{}, nil, facts.ReasonNoWorker, "no worker is connected"},
		{facts.JobFacts{}, []string{"lost", "locked", "lost"}, facts.ReasonNoHostUp, "no host takes work now; 1 locked, 0 unreachable, 2 lost"},
		{facts.JobFacts{}, []string{"up", "up"}, facts.ReasonNextPlan, "an instance of this job has room on 2 hosts; it starts with the next plan, unless a job before this one takes the room"},
		{facts.JobFacts{Hosts: []string{"b"}}, []string{"up", "lost"}, facts.ReasonNoHostFits,
			"no host is called b; without -hosts 1 host would fit, with room now"},
		{facts.JobFacts{Hosts: []string{"h1"}}, []string{"up", "unreachable"}, facts.ReasonNoHostFits,
			"no host that takes work fits; h1 fits, but is unreachable; without -hosts 1 host would fit, with room now"},
		{facts.JobFacts{Hosts: []string{"h1"}}, []string{"up", "locked"}, facts.ReasonNoHostFits,
			"no host that takes work fits; h1 would serve this job, but is locked by ; without -hosts 1 host would fit, with room now"},
		{facts.JobFacts{Groups: []string{"new"}, Hosts: []string{"h0", "h1"}}, []string{"up", "up"}, facts.ReasonNoHostFits,
			"no host is in the group new; without -groups 2 hosts would fit, with room now"},
	} {
		f := farmOf(t, tc.row, tc.states...)
		if why, _ := explain.New(f).Why(&f.Jobs[0]); why.Reason != tc.code || why.Cause != tc.text {
			t.Errorf("%+v on %v: %s, %q", tc.row, tc.states, why.Reason, why.Cause)
		}
	}
}

// TestLooksOnly: an explanation, which tries what less a job could ask for, leaves the job and the hosts as they were.
func TestLooksOnly(t *testing.T) {
	row := facts.JobFacts{Hosts: []string{"b"}, OmitHosts: []string{"h1"}, Groups: []string{"new"}, OmitGroups: []string{"old"}, Restrictions: "/x",
		Reservations: "host.processors=2,host.gpus=2,host.memory=1GB", Requirements: "host.gpus > 1 and host.cluster = /x"}
	f, untouched := farmOf(t, row, "up", "up"), farmOf(t, row, "up", "up")
	x := explain.New(f)
	for _, id := range []facts.JobID{1, 1, 2} {
		e, found := x.Explain(id, "")
		if found != (id == 1) || found && !slices.ContainsFunc(e.Facts, func(f explain.Fact) bool { return strings.Contains(f.Text, "omitgroups") }) {
			t.Errorf("job %d: %+v", id, e)
		}
	}
	f.NeedIfAsked, untouched.NeedIfAsked = nil, nil
	if !reflect.DeepEqual(f, untouched) {
		t.Errorf("the farm is %+v, and was %+v", f.Jobs[0], untouched.Jobs[0])
	}
}

// TestRoomMeantForAnother: of two jobs that ask for the same, the job for which a host's room is meant does not read
// that the room is kept for itself, whichever is looked at first.
func TestRoomMeantForAnother(t *testing.T) {
	for _, turns := range [][]int{{0, 1}, {1, 0}} {
		f := farmOf(t, facts.JobFacts{}, "up")
		twin := f.Jobs[0]
		row := *twin.JobFacts
		row.ID, twin.JobFacts = 2, &row
		f.Jobs, f.Hosts[0].MeantFor = append(f.Jobs, twin), 1
		x := explain.New(f)
		for _, n := range turns {
			want := [2]facts.Reason{facts.ReasonNextPlan, facts.ReasonKeptForJob}[n]
			if why, _ := x.Why(&f.Jobs[n]); why.Reason != want || n == 1 && why.Params.Job != 1 {
				t.Errorf("job %d, of turns %v: %+v", f.Jobs[n].ID, turns, why)
			}
		}
	}
}
