package serve

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/job/facts"
)

// TestArchiveSubmitsAgain: an archive has each attribute that was given, and submits a job like the first.
func TestArchiveSubmitsAgain(t *testing.T) {
	t.Parallel()
	r := startRig(t, anyAccount)
	c := r.client("u1", api.Admin)
	must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Status: "blocked"})
	given := requestOf(t, 0, attributes(func(a *facts.Attribute) bool {
		// which makes two jobs
		return !slices.Contains(submittedAlone, a.Name) && a.Name != "postflights" && !strings.HasPrefix(a.Name, "p_agenda")
	}))
	id := must[api.SubmitReply](t, c, api.Submit, nil, given).Job
	archived := must[api.JobArchive](t, c, api.ArchiveJob, params("job", id), nil)
	got := membersOf(t, archived.Submission)
	for name, want := range membersOf(t, given) {
		if !reflect.DeepEqual(got[name], want) && !alike(name) {
			t.Errorf("%s was %v and is %v in the archive", name, want, got[name])
		}
	}
	if archived.Job == nil || archived.Job.ID != id || archived.Format != api.ArchiveFormat ||
		archived.Version != api.ArchiveVersion {
		t.Errorf("the archive is of %+v", archived.Job)
	}
	archived.Submission.Label = "another" // within the group
	again := must[api.SubmitReply](t, c, api.Submit, nil, archived.Submission).Job
	second := must[api.JobArchive](t, c, api.ArchiveJob, params("job", again), nil).Submission
	if !reflect.DeepEqual(second, archived.Submission) {
		t.Errorf("submitted again, %+v became %+v", archived.Submission, second)
	}
}

// TestArchiveHolds: a job whose archive is submitted runs nothing until somebody lets it go, exactly if the job was
// held.
func TestArchiveHolds(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("u1", api.Admin)
	for given, held := range map[string]bool{"blocked": true, "blocked unblock": false, " block": true,
		" block unblock": false, " suspend": true, " suspend resume": false, " kill": false, "": false} {
		status, orders, _ := strings.Cut(given, " ")
		id := must[api.SubmitReply](t, c, api.Submit, nil,
			api.SubmitRequest{Command: []string{"true"}, Range: "1-3", Status: status}).Job
		for action := range strings.FieldsSeq(orders) {
			if action == "suspend" { // which needs an item that runs
				a := r.agent("h"+strconv.FormatInt(id, 10), 1)
				a.beat(0)
				a.until("an item runs", func() bool {
					return must[api.Job](t, c, api.GetJob, params("job", id), nil).Status == "running"
				})
			}
			must[api.ActionReply](t, c, api.OrderJob, params("job", id, "action", action), nil)
		}
		again := must[api.JobArchive](t, c, api.ArchiveJob, params("job", id), nil).Submission
		if (again.Status == "blocked") != held {
			t.Errorf("%q: the archive has the status %q", given, again.Status)
		}
		// refused if the job was killed before
		_ = c.Call(t.Context(), api.OrderJob, params("job", id, "action", "kill"), nil, nil)
	}
}

// TestMembersInOtherCapitals: a name in other capitals is no member, alone and beside the right one. Go's reader takes
// it for that member, and others for none.
func TestMembersInOtherCapitals(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("u1", api.Admin)
	must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Status: "blocked"})
	for _, of := range []struct {
		endpoint api.Endpoint
		params   api.Params
		request  any
		least    map[string]any
	}{
		{api.Submit, nil, api.SubmitRequest{}, map[string]any{"command": []string{"true"}}},
		{api.Modify, params("job", 1), api.ModifyRequest{}, map[string]any{"notes": "n"}},
		{api.OrderJob, params("job", 1, "action", "block"), api.ActionRequest{}, map[string]any{}},
	} {
		members := reflect.VisibleFields(reflect.TypeOf(of.request))
		for _, field := range members {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			body := maps.Clone(of.least)
			body[strings.ToUpper(name)] = reflect.Zero(field.Type).Interface()
			refused(t, api.KindInvalid, c, of.endpoint, of.params, body)
			if _, given := body[name]; given {
				continue
			}
			delete(body, strings.ToUpper(name))
			body[strings.ToUpper(name[:1])+name[1:]] = 1
			refused(t, api.KindInvalid, c, of.endpoint, of.params, body)
		}
		if len(members) < 2 {
			t.Error(of.endpoint, " has few members")
		}
	}
}

// alike are attributes whose normal form differs from what was written.
func alike(name string) bool {
	return slices.Contains([]string{"preflights", "agenda_preflights", "agenda_postflights", "validate", "hosts",
		"omithosts", "groups", "omitgroups"}, name)
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
	late, early := submit(api.SubmitRequest{Range: "1", Priority: new(50)}),
		submit(api.SubmitRequest{Range: "1", Priority: new(20)})
	wide := submit(api.SubmitRequest{Range: "1", Reservations: "host.processors=2"})
	blocked := submit(api.SubmitRequest{Range: "1", Status: "blocked"})
	show := func(turns []api.JobPlacement) (all []string) {
		for _, t := range turns {
			all = append(all, strconv.FormatInt(t.Job, 10)+" "+strconv.Itoa(t.Place)+" "+t.Code)
		}
		return all
	}
	eventually(t, "the jobs wait in order", func() bool {
		turns := must[[]api.JobPlacement](t, c, api.OrderOfJobs, params("host", "h1"), nil)
		return len(turns) == 4 && turns[0].Job == early && turns[0].Place == 1 && turns[1].Job == late &&
			turns[1].Place == 2 && turns[1].Priority == 50 &&
			turns[2].Place == 0 && turns[2].Code != "" && turns[2].Reason != "" && turns[3].Place == 0 && turns[3].Code != ""
	})
	for _, turn := range must[[]api.JobPlacement](t, c, api.OrderOfJobs, params("host", "h2"), nil) {
		if turn.Place != 0 || turn.Job == running {
			t.Errorf("on a locked host: %v", show([]api.JobPlacement{turn}))
		}
	}
	hosts := must[[]api.HostPlacement](t, c, api.OrderOfHosts, params("job", early), nil)
	if len(hosts) != 2 || hosts[0].Host != "h1" || hosts[0].Place != 1 || hosts[1].Place != 0 ||
		hosts[1].Code != string(facts.ReasonNoHostUp) {
		t.Errorf("hosts of a job: %+v", hosts)
	}
	if hosts = must[[]api.HostPlacement](t, c, api.OrderOfHosts, params("job", blocked), nil); hosts[0].Place != 0 ||
		hosts[0].Code != string(facts.ReasonBlocked) {
		t.Errorf("hosts of a blocked job: %+v", hosts)
	}
	refused(t, api.KindNotFound, c, api.OrderOfJobs, params("host", "nowhere"), nil)
	refused(t, api.KindNotFound, c, api.OrderOfHosts, params("job", 99), nil)
	_ = wide
}
