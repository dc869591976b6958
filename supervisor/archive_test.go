package supervisor

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/facts"
)

// TestArchiveSubmitsAgain: an archive has each attribute that was given, and submits a job like the first.
func TestArchiveSubmitsAgain(t *testing.T) {
	t.Parallel()
	r := startRig(t, anyAccount)
	c := r.client("u1", api.Admin)
	must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Status: "blocked"})
	given := requestOf(t, 0, attributes(func(a *facts.Attribute) bool {
		return !slices.Contains(submittedAlone, a.Name) && a.Name != "postflights" && !strings.HasPrefix(a.Name, "p_agenda") // which makes two jobs
	}))
	id := must[api.SubmitReply](t, c, api.Submit, nil, given).Job
	archived := must[api.JobArchive](t, c, api.ArchiveJob, params("job", id), nil)
	got := membersOf(t, archived.Submission)
	for name, want := range membersOf(t, given) {
		if !reflect.DeepEqual(got[name], want) && !alike(name) {
			t.Errorf("%s was %v and is %v in the archive", name, want, got[name])
		}
	}
	if archived.Job == nil || archived.Job.ID != id || archived.Format != api.ArchiveFormat || archived.Version != api.ArchiveVersion {
		t.Errorf("the archive is of %+v", archived.Job)
	}
	archived.Submission.Label = "another" // within the group
	again := must[api.SubmitReply](t, c, api.Submit, nil, archived.Submission).Job
	second := must[api.JobArchive](t, c, api.ArchiveJob, params("job", again), nil).Submission
	if !reflect.DeepEqual(second, archived.Submission) {
		t.Errorf("submitted again, %+v became %+v", archived.Submission, second)
	}
}

// alike are attributes whose normal form differs from what was written.
func alike(name string) bool {
	return slices.Contains([]string{"preflights", "agenda_preflights", "agenda_postflights", "validate", "hosts", "omithosts", "groups", "omitgroups"}, name)
}

func membersOf(t *testing.T, v any) (all map[string]any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestJobAndHostOrder: which jobs would go to a host, in the order of the plan, and why others would not.
func TestJobAndHostOrder(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("u1", api.Admin)
	one, two := r.agent("h1", 1), r.agent("h2", 2)
	submit := func(of api.SubmitRequest) int64 {
		of.Command = []string{"true"}
		return must[api.SubmitReply](t, c, api.Submit, nil, of).Job
	}
	one.beat(0)
	two.beat(0)
	must[api.HostReply](t, c, api.LockHost, params("host", "h2"), nil)
	running := submit(api.SubmitRequest{Range: "1", Priority: new(1)})
	one.until("the first job runs", func() bool { return len(one.running) == 1 })
	late, early := submit(api.SubmitRequest{Range: "1", Priority: new(50)}), submit(api.SubmitRequest{Range: "1", Priority: new(20)})
	wide := submit(api.SubmitRequest{Range: "1", Reservations: "host.processors=2"})
	blocked := submit(api.SubmitRequest{Range: "1", Status: "blocked"})
	show := func(turns []api.JobTurn) (all []string) {
		for _, t := range turns {
			all = append(all, strconv.FormatInt(t.Job, 10)+" "+strconv.Itoa(t.Place)+" "+t.Code)
		}
		return all
	}
	eventually(t, "the jobs wait in order", func() bool {
		turns := must[[]api.JobTurn](t, c, api.OrderOfJobs, params("host", "h1"), nil)
		return len(turns) == 4 && turns[0].Job == early && turns[0].Place == 1 && turns[1].Job == late && turns[1].Place == 2 && turns[1].Priority == 50 &&
			turns[2].Place == 0 && turns[2].Code != "" && turns[2].Reason != "" && turns[3].Place == 0 && turns[3].Code != ""
	})
	for _, turn := range must[[]api.JobTurn](t, c, api.OrderOfJobs, params("host", "h2"), nil) {
		if turn.Place != 0 || turn.Job == running {
			t.Errorf("on a locked host: %v", show([]api.JobTurn{turn}))
		}
	}
	hosts := must[[]api.HostTurn](t, c, api.OrderOfHosts, params("job", early), nil)
	if len(hosts) != 2 || hosts[0].Host != "h1" || hosts[0].Place != 1 || hosts[1].Place != 0 || hosts[1].Code != string(facts.ReasonNoHostUp) {
		t.Errorf("hosts of a job: %+v", hosts)
	}
	if hosts = must[[]api.HostTurn](t, c, api.OrderOfHosts, params("job", blocked), nil); hosts[0].Place != 0 || hosts[0].Code != string(facts.ReasonBlocked) {
		t.Errorf("hosts of a blocked job: %+v", hosts)
	}
	refused(t, api.KindNotFound, c, api.OrderOfJobs, params("host", "nowhere"), nil)
	refused(t, api.KindNotFound, c, api.OrderOfHosts, params("job", 99), nil)
	_ = wide
}
