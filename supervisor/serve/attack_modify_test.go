package serve

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
)

// mayGive says by hand who may give a job of ada, of the admin boss or of root new values, by what that comes to. Ada
// and boss are in the group fx, and all three jobs let everybody change them.
var mayGive = map[facts.Effect]map[string][]string{
	facts.Offers: {
		"ada":  {"ada", "boss", "stranger", "mate", "lead", "operator", "as-ada", "as-boss", "as-any"},
		"boss": {"ada", "boss", "stranger", "mate", "lead", "operator", "as-ada", "as-boss", "as-any"},
		"root": {"ada", "boss", "stranger", "mate", "lead", "operator", "as-ada", "as-boss", "as-any"},
	},
	facts.Permits: {
		"ada":  {"ada", "boss", "lead", "operator"},
		"boss": {"boss", "lead", "operator"},
		"root": {"boss", "operator"},
	},
	facts.Decides: {
		"ada":  {"ada", "boss", "as-ada", "as-any"},
		"boss": {"boss", "as-boss"},
		"root": {"boss"},
	},
}

const letsAll = "group=vmk,others=vmk"

// modifyWalk is a farm with users of all kinds, and a job of each owner without a range, which waits and which all may
// change.
type modifyWalk struct {
	*rig
	tokens map[string]string
	jobs   map[string]int64
}

func startModifyWalk(t *testing.T) modifyWalk {
	t.Helper()
	w := modifyWalk{tokens: map[string]string{}, jobs: map[string]int64{}}
	w.rig = startRig(t, anyAccount, func(c *settings.Config, _ *Options) { c.UserChanges = 0 })
	admin := w.client("first", api.Admin)
	for _, p := range []api.PersonRequest{
		{Name: "boss", Role: "admin", Groups: []string{"fx"}}, {Name: "operator", Role: "operator"},
		{Name: "ada", Role: "user", Groups: []string{"fx"}},
		{Name: "mate", Role: "user", Groups: []string{"fx"}}, {Name: "lead", Role: "user", Leads: []string{"fx"}},
		{Name: "stranger", Role: "user"},
		{Name: "as-ada", Role: "user", SubmitAs: []string{"ada"}},
		{Name: "as-boss", Role: "user", SubmitAs: []string{"boss"}}, {Name: "as-any", Role: "user", SubmitAs: []string{"*"}},
	} {
		must[api.Person](t, admin, api.AddPerson, nil, p)
		w.tokens[p.Name] = w.token(p.Name, api.Role(p.Role))
	}
	for _, owner := range []string{"ada", "boss", "root"} {
		request := api.SubmitRequest{User: owner, Command: []string{"true"}, Status: "blocked", Security: letsAll}
		w.jobs[owner] = must[api.SubmitReply](t, clientOf(t, w.rig, w.tokens["boss"]), api.Submit, nil, request).Job
	}
	return w
}

// give sends one change and wants it made, or refused with the name of the member and nothing changed.
func (w modifyWalk) give(t *testing.T, caller, owner string, body any, refusedFor string) {
	t.Helper()
	path := pathFor(api.Modify, params("job", w.jobs[owner])["job"])
	before := w.version(t, owner)
	resp := w.raw(api.Modify.Method, path, w.tokens[caller], encoded(body), nil)
	answer := text(t, resp)
	if refusedFor == "" {
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s may give the job of %s %s, and was answered %s", caller, owner, encoded(body), answer)
		}
		return
	}
	var problem struct{ Errors []struct{ Location string } }
	if err := json.Unmarshal([]byte(answer), &problem); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(answer, `"`+refusedFor+` decides `) ||
		len(problem.Errors) != 1 || problem.Errors[0].Location != refusedFor {
		t.Errorf("%s may not give the job of %s %s, and was answered %d %s", caller, owner, encoded(body),
			resp.StatusCode, answer)
	}
	if after := w.version(t, owner); after != before {
		t.Errorf("%s was refused, and the job of %s went from version %d to %d", caller, owner, before, after)
	}
}

func (w modifyWalk) version(t *testing.T, owner string) int64 {
	t.Helper()
	row, err := w.store.Facts(t.Context(), facts.JobID(w.jobs[owner]))
	if err != nil || row == nil {
		t.Fatal(row, err)
	}
	return row.Version
}

// TestAttackModify: each member of the change of a job, by each kind of caller, on the job of a user, of an admin and
// of root. Who may change the job, but not submit as its owner, changes nothing that runs.
func TestAttackModify(t *testing.T) {
	t.Parallel()
	w := startModifyWalk(t)
	members := 0
	for f := range reflect.TypeFor[api.ModifyRequest]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		given := attributes(func(a *facts.Attribute) bool { return a.Name == name || a.In == name })
		if len(given) == 0 {
			t.Errorf("the member %s of a change is no attribute in facts.Attributes, so that nothing says who may give it", name)
		}
		for _, a := range given {
			members++
			body := requestOf(t, 1, []*facts.Attribute{a})
			if a.Effect == facts.Permits {
				body[a.Name] = letsAll // others are still to try
			}
			for owner := range w.jobs {
				for caller := range w.tokens {
					refusedFor := a.Name
					if slices.Contains(mayGive[a.Effect][owner], caller) {
						refusedFor = ""
					}
					w.give(t, caller, owner, body, refusedFor)
					if a.Effect == facts.Decides { // what anybody may give takes nothing along
						body["priority"] = 7
						w.give(t, caller, owner, body, refusedFor)
						delete(body, "priority")
					}
				}
			}
		}
	}
	if members < 40 {
		t.Errorf("only %d members were tried", members)
	}
}

// TestSecurityIsNotPassedOn: no user can give others access to output that the user itself may not read.
func TestSecurityIsNotPassedOn(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(c *settings.Config, _ *Options) { c.LogAccess = "owner" })
	boss := r.client("boss", api.Admin)
	must[api.Person](t, boss, api.AddPerson, nil, api.PersonRequest{Name: "ada", Role: "user", Groups: []string{"fx"}})
	must[api.Person](t, boss, api.AddPerson, nil, api.PersonRequest{Name: "lead", Role: "user", Leads: []string{"fx"}})
	ada, lead := clientOf(t, r, r.token("ada", api.User)), clientOf(t, r, r.token("lead", api.User))
	job := must[api.SubmitReply](t, ada, api.Submit, nil,
		api.SubmitRequest{Command: []string{"true"}, Status: "blocked"}).Job
	must[api.SubmitReply](t, lead, api.Modify, params("job", job), api.ModifyRequest{Priority: new(9)})
	refused(t, api.KindForbidden, lead, api.Modify, params("job", job),
		api.ModifyRequest{Security: new("group=vmk,others=v")})
	must[api.SubmitReply](t, ada, api.Modify, params("job", job), api.ModifyRequest{Security: new("group=v")})
	// who may read it then
	must[api.SubmitReply](t, lead, api.Modify, params("job", job), api.ModifyRequest{Security: new("group=vmk")})
}
