package serve

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/wire/settings"
)

// rightOf lists by hand which right each endpoint needs, for actions by their name. Endpoints that need no right are
// left out.
var rightOf = func() map[string]string {
	all := map[string]string{}
	for right, ids := range map[string]string{
		"submit_job": "submit check-submission submit-openjd check-openjd try-submission archive-job report-publication set-profile forget-profile",
		"modify":     "modify-job", "remove": "remove-job order-jobs/remove", "output": "item-log session-log item-picture find-in-log",
		"lock":  "lock-host unlock-host",
		"sudo":  "supervisor-configuration report-resource confirm-dead release-brake read-ends add-account add-accounts remove-account set-budget decide-publication add-credits set-share add-credit history",
		"admin": "remove-host approve-host restart-host reread test-mail create-token list-tokens rotate-token audit-log revoke-token list-users add-user set-user remove-user invite-user",
		"see": "list-job-types get-job-type list-resources list-jobs get-job list-items list-attempts job-history explain-job list-hosts snapshot events ping list-shares explain-share share-settings list-accounts " +
			"past-accounts list-budgets list-publications list-profiles list-credit get-stats get-user login list-own-tokens revoke-own-token make-code begin-session " +
			"watch item-states job-order host-order item-values get-item timeline what-if slot-map get-host host-configuration metrics",
		"kill": "order-job/kill order-jobs/kill", "retry": "order-job/retry order-job/redo order-jobs/retry order-jobs/redo",
		"requeue": "order-job/requeue order-jobs/requeue",
		"block":   "order-job/block order-jobs/block", "unblock": "order-job/unblock order-jobs/unblock",
		"interrupt": "order-job/interrupt order-jobs/interrupt",
		"preempt":   "order-job/preempt order-jobs/preempt", "shove": "order-job/shove order-jobs/shove",
		"suspend": "order-job/suspend order-jobs/suspend",
		"resume":  "order-job/resume order-jobs/resume",
		"bump":    "order-job/top order-job/bottom order-jobs/top order-jobs/bottom",
		"migrate": "order-job/migrate order-jobs/migrate", "retire": "order-job/retire order-jobs/retire",
		"complete": "order-job/complete order-jobs/complete", "fail": "order-job/fail order-jobs/fail",
	} {
		for id := range strings.FieldsSeq(ids) {
			all[id] = right
		}
	}
	return all
}()

// TestEachRight: who lacks one right is refused what needs it, through the routes; who has it alone may do that and
// nothing else.
func TestEachRight(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	replace := thing{"99999", "h404", "nobody-known", "0000000000000000"}
	for _, right := range api.AllRights {
		name := "without-" + strings.ReplaceAll(right.Name, "_", "-")
		rights := (api.EveryRight &^ right.Bit).Names()
		must[api.Person](t, admin, api.AddPerson, nil, api.PersonRequest{Name: name, Role: "admin", Rights: rights})
		token := r.token(name, api.Admin)
		for _, e := range api.Endpoints {
			for _, action := range actionsOf(e) {
				want, known := rightOf[strings.TrimSuffix(e.ID+"/"+action, "/")]
				if !known && isPlainRead(e) {
					want, known = "see", true
				}
				if !known && e.Role != api.Anyone && e.Role != api.Worker && (e.ID != "order-job" && e.ID != "order-jobs") {
					t.Errorf("%s has no line in the table", e.ID)
				}
				if alone := (credentials.Principal{User: "x", Role: api.Admin, Rights: right.Bit}); known &&
					(gate.Authorise(alone, e, action, nil) == nil) != (want == right.Name) {
					t.Errorf("%s %s with the right %s alone: %v", e.ID, action, right.Name, gate.Authorise(alone, e, action, nil))
				}
				if want != right.Name || right.Bit == api.MaySee { // which everybody has
					continue
				}
				path := replace.replacer().Replace(strings.ReplaceAll(e.Path, "{action}", action))
				resp := r.raw(e.Method, path, token, "", nil)
				resp.Body.Close()
				if resp.StatusCode != http.StatusForbidden {
					t.Errorf("%s %s without %s: status %d", e.ID, action, right.Name, resp.StatusCode)
				}
			}
		}
	}
}

// actionsOf are the actions of an endpoint of orders.
func actionsOf(e api.Endpoint) []string {
	if !strings.Contains(e.Path, "{action}") {
		return []string{""}
	}
	var all []string
	for id := range rightOf {
		if of, action, found := strings.Cut(id, "/"); found && of == e.ID {
			all = append(all, action)
		}
	}
	slices.Sort(all)
	return all
}

// TestNobodyGivesRightsThatHeHasNot: neither in a row, nor by a token, nor by taking a row away.
func TestNobodyGivesRightsThatHeHasNot(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(c *settings.Config, _ *Options) { c.DefaultSecurity = "see,submit_job,kill" })
	boss := r.client("boss", api.Admin)
	less := (api.EveryRight &^ api.MayKill).Names()
	for _, p := range []api.PersonRequest{
		{Name: "clerk", Role: "admin", Rights: less}, {Name: "ada", Role: "user", Rights: []string{"see", "kill"}},
		{Name: "bob", Role: "user", Rights: []string{"see", "modify"}},
	} {
		must[api.Person](t, boss, api.AddPerson, nil, p)
	}
	clerk := clientOf(t, r, r.token("clerk", api.Admin))
	// users may kill
	refused(t, api.KindForbidden, clerk, api.AddPerson, nil, api.PersonRequest{Name: "eve", Role: "user"})
	refused(t, api.KindForbidden, clerk, api.ChangePerson, params("user", "clerk"),
		api.PersonChange{Rights: &[]string{"kill", "admin"}})
	refused(t, api.KindForbidden, clerk, api.ChangePerson, params("user", "clerk"), api.PersonChange{Role: new("admin")})
	refused(t, api.KindForbidden, clerk, api.CreateToken, nil, api.TokenRequest{User: "ada", Role: "user"})
	refused(t, api.KindForbidden, clerk, api.CreateToken, nil, api.TokenRequest{User: "boss", Role: "admin"})
	refused(t, api.KindForbidden, clerk, api.Invite, params("user", "ada"), api.InviteRequest{})
	// who could kill then
	refused(t, api.KindForbidden, clerk, api.RemovePerson, params("user", "bob"), nil)
	// she had it
	must[api.Person](t, clerk, api.ChangePerson, params("user", "ada"),
		api.PersonChange{Rights: &[]string{"kill", "lock"}})
	must[api.TokenReply](t, clerk, api.CreateToken, nil, api.TokenRequest{User: "bob", Role: "user"})
	trail := must[[]api.AuditEntry](t, boss, api.AuditLog, params("user", "clerk"), nil)
	n := slices.IndexFunc(trail, func(a api.AuditEntry) bool {
		return a.Verb == api.ChangePerson.ID && a.Outcome == "done"
	})
	if n < 0 {
		t.Fatalf("the trail has no change by clerk: %+v", trail)
	}
	if text := string(trail[n].Detail); !strings.Contains(text, "kill") || !strings.Contains(text, "lock") ||
		!strings.Contains(text, "before") {
		t.Errorf("the trail tells of the change: %s", text)
	}
	refused(t, api.KindInvalid, boss, api.ChangePerson, params("user", "ada"), api.PersonChange{Rights: &[]string{"sudo"}})
	refused(t, api.KindInvalid, boss, api.ChangePerson, params("user", "ada"), api.PersonChange{Rights: &[]string{"fly"}})
	if got := must[api.Ping](t, clientOf(t, r, r.token("bob", api.User)),
		api.PingFarm, nil, nil); !slices.Equal(got.Rights, []string{"modify", "see"}) {
		t.Errorf("bob may %v", got.Rights)
	}
	if got := must[api.Ping](t, clientOf(t, r, r.token("nobody-added", api.User)),
		api.PingFarm, nil, nil); !slices.Equal(got.Rights, []string{"submit_job", "kill", "see"}) {
		t.Errorf("who was not added may %v", got.Rights)
	}
}

// TestJobSecurity: what the owner lets others do with a job, by whether they share a group with him.
func TestJobSecurity(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	boss := r.client("boss", api.Admin)
	for name, groups := range map[string][]string{"ada": {"fx"}, "gil": {"fx"}, "sam": {"comp"}} {
		must[api.Person](t, boss, api.AddPerson, nil, api.PersonRequest{Name: name, Role: "user", Groups: groups})
	}
	ada := clientOf(t, r, r.token("ada", api.User))
	for _, one := range []struct{ security, group, others string }{
		{"", "v", "v"}, {"group=,others=", "", ""}, {"group=vm", "vm", ""}, {"others=k", "", "k"},
		{"group=vmk,others=v", "vmk", "v"},
	} {
		job := must[api.SubmitReply](t, ada, api.Submit, nil,
			api.SubmitRequest{Command: []string{"true"}, Range: "1-9", Status: "blocked", Security: one.security}).Job
		for user, lets := range map[string]string{"gil": one.group, "sam": one.others} {
			c, path := clientOf(t, r, r.token(user, api.User)), params("job", job)
			for letter, err := range map[string]error{
				"v": c.Call(t.Context(), api.ItemLog, params("job", job, "item", "1"), nil, nil),
				"m": c.Call(t.Context(), api.Modify, path, api.ModifyRequest{Notes: new("hello")}, nil),
				"k": c.Call(t.Context(), api.OrderJob, params("job", job, "action", "kill"), api.ActionRequest{Items: "1"}, nil),
			} {
				forbidden := err != nil && api.Refusal(err).Kind == api.KindForbidden
				if forbidden == strings.Contains(lets, letter) {
					t.Errorf("-security %q: %s as %s: %v", one.security, letter, user, err)
				}
			}
			refused(t, api.KindForbidden, c, api.Modify, path, api.ModifyRequest{Security: new("others=vmk")})
		}
		must[api.SubmitReply](t, ada, api.Modify, params("job", job), api.ModifyRequest{Security: new("group=v")})
	}
	for _, wrong := range []string{"x", "group", "group=w", "group=v,group=k", "owner=v"} {
		refused(t, api.KindInvalid, ada, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Security: wrong})
	}
}
