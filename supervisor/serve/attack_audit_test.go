package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// trail is the audit trail as an admin sees it, a line for each row, the newest first.
func trail(t testing.TB, c *api.Client, pairs ...any) (lines []string) {
	t.Helper()
	for _, a := range must[[]api.AuditEntry](t, c, api.AuditLog, params(pairs...), nil) {
		if a.Request == "" && a.Outcome != "dropped" || a.From == "" || a.At.IsZero() {
			t.Errorf("an incomplete row: %+v", a)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", a.User, a.Outcome, a.Verb, a.Object, a.Code)))
	}
	return lines
}

// TestAttackWithoutTrace: who changes, makes tokens, reads others' output or is refused is in the trail; a change at
// the moment that it is answered.
func TestAttackWithoutTrace(t *testing.T) {
	r := startRig(t)
	admin, ann := r.client("boss", api.Admin), r.client("ann", api.User)
	mallory := r.token("mallory", api.User)
	secret := "hunter2"
	job := must[api.SubmitReply](t, ann, api.Submit, nil,
		api.SubmitRequest{Command: []string{"true", secret}, Env: map[string]string{"PASSWORD": secret},
			Status: "blocked"}).Job
	want := []string{fmt.Sprintf("ann done submit job %d", job)}
	if got := trail(t, admin, "user", "ann"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after a submission: %q", got)
	}
	must[api.SubmitReply](t, ann, api.Modify, params("job", job), api.ModifyRequest{Priority: ptr(7)})
	must[api.ActionReply](t, ann, api.OrderJob, params("job", job, "action", "kill"), nil)
	want = append([]string{fmt.Sprintf("ann done order-job job %d", job), fmt.Sprintf("ann done modify-job job %d", job)},
		want...)
	if got := trail(t, admin, "user", "ann"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after a change and an order: %q", got)
	}
	made := must[api.TokenReply](t, admin, api.CreateToken, nil, api.TokenRequest{User: "x", Role: "user"})
	must[api.RevokeReply](t, admin, api.RevokeToken, params("token", made.ID), nil)
	if got := trail(t, admin, "user", "boss"); len(got) != 2 || got[0] != "boss done revoke-token token "+made.ID ||
		got[1] != "boss done create-token token "+made.ID {
		t.Errorf("tokens: %q", got)
	}
	path := fmt.Sprintf("/v1/jobs/%d/orders/kill", job)
	if got := r.raw("POST", path, mallory, "", nil).StatusCode; got != http.StatusForbidden {
		t.Fatal(got)
	}
	_ = admin.Call(t.Context(), api.ItemLog, params("job", job, "item", "1"), nil, nil) // it has not run; he tried
	r.raw("GET", "/v1/jobs", "qb_admin_0123456789abcdef_"+strings.Repeat("A", 43), "", nil)
	for _, line := range []string{"mallory refused order-job " + path + " forbidden",
		fmt.Sprintf("boss read item-log job %d item 1", job), "refused GET /v1/jobs unauthorized"} {
		eventually(t, line, func() bool { return strings.Contains(strings.Join(trail(t, admin), "\n"), line) })
	}
	page := text(t, r.raw("GET", "/v1/audit?limit=1000", r.token("boss2", api.Admin), "", nil))
	if strings.Contains(page, secret) || strings.Contains(page, made.Token) {
		t.Error("a secret is in the trail")
	}
}

// TestAttackAuditFlood: refusals and reads fill no database: so many are noted, the rest is counted.
func TestAttackAuditFlood(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	mallory := r.token("mallory", api.User)
	began := time.Now()
	for range 300 {
		r.raw("GET", "/v1/tokens", mallory, "", nil).Body.Close()
	}
	admin := r.client("boss", api.Admin)
	eventually(t, "the first ones are noted", func() bool {
		return len(trail(t, admin, "user", "mallory")) >= audit.Burst
	})
	time.Sleep(2 * audit.Pause)
	if got := len(trail(t, admin, "user", "mallory", "limit", 1000)); got > audit.Burst+20+
		int(audit.Each*time.Since(began).Seconds()) {
		t.Errorf("300 refusals made %d rows", got)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	rows, err := r.store.AuditLog(t.Context(), store.AuditQuery{User: "mallory"})
	if err != nil || len(rows) == 0 || rows[0].Outcome != "dropped" || rows[0].Times < 200 {
		t.Errorf("the rest is not counted: %+v, %v", rows[:min(1, len(rows))], err)
	}
}

// audited lists, for each endpoint that changes something, a call that does so, the object of its audit row, and the
// values that the row has before and after. Later calls need what earlier ones made.
var audited = []struct {
	e                     api.Endpoint
	params                api.Params
	body                  any
	object, before, after string
}{
	{api.Submit, nil, api.SubmitRequest{Name: "x", Command: []string{"true", "hunter2"},
		Env: map[string]string{"A": "hunter2"}, Range: "1-3", Status: "blocked"}, "job 2", `null`,
		`{"name":"x","user":"boss","range":"1-3","priority":null}`},
	{api.Modify, params("job", 2), api.ModifyRequest{Priority: ptr(7)}, "job 2", `{"priority":9999}`, `{"priority":7}`},
	{api.OrderJob, params("job", 2, "action", "kill"), nil, "job 2", `{"status":"blocked"}`, `{"affected":3}`},
	{api.OrderJobs, params("action", "retry"), api.ManyJobs{Jobs: []int64{2}}, "job 2", `{"status":"killed"}`,
		`{"affected":3}`},
	{api.OrderJob, params("job", 2, "action", "kill"), nil, "job 2", `{"status":`, `{"affected":3}`},
	{api.RemoveJob, params("job", 2), nil, "job 2", `{"name":"x","status":"killed"}`, `null`},
	{api.ReportResource, params("resource", "license.nuke"), api.ResourceReport{Outside: ptr(int64(1))},
		"resource license.nuke", `"used_outside":0`, `"used_outside":1`},
	{api.LockHost, params("host", "h0"), nil, "host h0", `"locked":false`,
		`{"purge":false,"locked":true,"locked_slots":0}`},
	{api.UnlockHost, params("host", "h0"), nil, "host h0", `"machine":"m-h0"`, `{"locked":false}`},
	{api.ApproveHost, params("host", "new"), nil, "host new", `"state":"pending"`, `{"state":"approved"}`},
	{api.RestartHost, params("host", "h0"), nil, "host h0", `"machine":"m-h0"`, `{"restarted":`},
	{api.SetShare, nil, api.ShareSetting{Path: "ann", Shares: 2}, "share ann", `null`, `{"shares":2}`},
	{api.SetShare, nil, api.ShareSetting{Path: "ann", Shares: 3}, "share ann", `{"shares":2}`, `{"shares":3}`},
	{api.AddAccount, nil, api.Account{Path: "fx", Users: []string{"ann"}}, "account fx", `null`,
		`{"path":"fx","users":["ann"]}`},
	{api.AddAccounts, nil, []api.Account{{Path: "fx", Users: []string{"ann"}}, {Path: "fx/comp"}}, "many accounts", `null`,
		`[{"path":"fx","users":["ann"]},{"path":"fx/comp"}]`},
	{api.DropAccount, nil, api.Account{Path: "fx/comp"}, "account fx/comp", `"path":"fx/comp"`, `{"path":"fx/comp"}`},
	{api.DropAccount, nil, api.Account{Path: "fx"}, "account fx", `"users":["ann"]`, `{"path":"fx"}`},
	{api.SetBudget, nil, api.Budget{Path: "ann", Seconds: 1}, "budget ann", `null`,
		`{"over":"wait","path":"ann","budget_seconds":1}`},
	{api.SetBudget, nil, api.Budget{Path: "ann", Remove: true}, "budget ann", `"budget_seconds":1`, `"remove":true`},
	{api.Report, nil, api.Publication{Source: "doi:10.1000/1"}, "publication doi:10.1000/1", `null`, `doi:10.1000/1`},
	{api.Decide, nil, api.Decision{Source: "doi:10.1000/1", Accept: true}, "publication doi:10.1000/1",
		`{"state":"reported"}`, `"accept":true`},
	{api.AddCredits, nil, []api.Credit{{User: "ben", Amount: 1, Source: "a paper"}}, "credit of many", `null`,
		`[{"user":"ben","amount":1,"source":"a paper"}]`},
	{api.AddCredit, nil, api.Credit{User: "ann", Amount: 5, Source: "a shot"}, "credit of ann", `{"given":0}`,
		`"given":5`},
	{api.AddCredit, nil, api.Credit{User: "ann", Amount: 2, Source: "another shot"}, "credit of ann", `{"given":5}`,
		`"given":7`},
	{api.SetProfile, params("profile", "true"), api.ProfileChange{Seconds: ptr(5.0)}, "profile true of boss",
		`"seconds":1.5`, `{"seconds":5}`},
	{api.ForgetProfile, params("profile", "true"), nil, "profile true of boss", `"seconds_set":true`,
		`{"forgotten":true}`},
	{api.CreateToken, nil, api.TokenRequest{User: "bea", Role: "user"}, "token ", `null`, `"role":"user"`},
	{api.RotateToken, nil, api.RotateRequest{OverlapSeconds: 60}, "token ", `"user":"bea"`, `"user":"bea"`},
	{api.RevokeToken, nil, nil, "token ", `"revoked":false`, `{"revoked":true}`},
	{api.AddPerson, nil, api.PersonRequest{Name: "cleo", Role: "user"}, "user cleo", `null`, `"role":"user"`},
	{api.ChangePerson, params("user", "cleo"), api.PersonChange{Groups: &[]string{"fx"}}, "user cleo", `"groups":[]`,
		`"groups":["fx"]`},
	{api.Invite, params("user", "cleo"), api.InviteRequest{TTLSeconds: 60}, "token ", `null`, `"user":"cleo"`},
	{api.CreateToken, nil, api.TokenRequest{User: "boss", Role: "user"}, "token ", `null`, `"role":"user"`},
	{api.RevokeOwn, nil, nil, "token ", `"revoked":false`, `{"revoked":true}`},
	{api.MakeCode, nil, nil, "token ", `null`, `"session_of":`},
	{api.RemovePerson, params("user", "cleo"), nil, "user cleo", `"groups":["fx"]`, `null`},
	{api.Reread, nil, nil, "configuration", `{"supervisor_liveness":"1h"}`, `{"supervisor_liveness":"1s"}`},
	{api.TestMail, nil, api.MailTest{Address: "ada@studio.example"}, "mail to ada@studio.example", ``, ``},
	{api.ReleaseBrake, nil, nil, "brake", `hosts with items fell silent`, `{"affected":`},
	{api.ConfirmDead, params("host", "h1"), nil, "host h1", `"state":"unreachable"`, `{"affected":1}`},
	{api.RemoveHost, params("host", "h2", "confirm_dead", true), nil, "host h2", `"state":"unreachable"`, `{"affected":`},
	{api.SubmitOpenJD, nil, api.OpenJDRequest{Template: api.OpenJDDocument{
		Text: `{specificationVersion: jobtemplate-2023-09, name: x, steps: [{name: s, script: {actions: {onRun: {command: "true"}}}}]}`},
		Job: &api.SubmitRequest{Env: map[string]string{"A": "hunter2"}, Status: "blocked"}}, "job ", `null`,
		`{"name":"x","user":"boss","steps":1}`},
}

// newestRow is the newest row of the trail. That of a test mail or a restart, which change no row, may follow its
// answer.
func newestRow(t *testing.T, admin *api.Client, e api.Endpoint) (rows []api.AuditEntry) {
	eventually(t, "its row", func() bool {
		rows = must[[]api.AuditEntry](t, admin, api.AuditLog, params("limit", 1), nil)
		return e.ID != api.TestMail.ID && e.ID != api.RestartHost.ID || len(rows) == 1 && rows[0].Verb == e.ID
	})
	return rows
}

// TestAttackChangeWithoutValues: each change leaves a row at the moment that it is answered: who, from where, what, and
// the values before and after, and no secret. Endpoints that change something have a line in audited.
func TestAttackChangeWithoutValues(t *testing.T) {
	d := &drawer{}
	r := startRig(t, func(c *settings.Config, o *Options) {
		c.ApproveHosts, c.Resources = true, "license.nuke=3"
		c.MailHost, c.MailPort = "127.0.0.1", 9 // no server listens on this port
		c.Liveness, c.ExecutionLease = settings.Duration(time.Hour), settings.Duration(2*time.Hour)
		d.cfg, o.Reload = *c, d.read
		d.cfg.Liveness = settings.Duration(time.Second)
	})
	token := r.token("boss", api.Admin)
	parts, _ := credentials.Parse(token)
	join, _ := r.joinToken(1)
	must[api.EnrolReply](t, join, api.Enrol, nil, enrolment("new", newKey()))
	admin, err := api.NewClient(r.url, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.CloseIdle)
	must[api.SubmitReply](t, admin, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Range: "1-13", CPUs: ptr(12)})
	for n := range 12 {
		a := r.agent(fmt.Sprint("h", n), 1)
		a.until("it runs an item", func() bool { return len(a.running) == 1 })
		if n == 0 { // and teaches the profile of its job
			a.finish(0)
			a.until("it runs the next", func() bool { return len(a.running) == 1 })
		}
	}
	eventually(t, "the host is shown", func() bool { return len(must[[]api.Host](t, admin, api.ListHosts, nil, nil)) == 13 }) // including the host that awaits admission
	shown := map[string]bool{}
	for _, c := range audited {
		shown[c.e.ID] = true
		switch c.e.ID {
		case api.RemoveJob.ID:
			eventually(t, "the job has ended", func() bool {
				return must[api.Job](t, admin, api.GetJob, c.params, nil).Status == "killed"
			})
		case api.RotateToken.ID, api.RevokeToken.ID:
			c.params = params("token", madeFor(t, admin, "bea"))
		case api.RevokeOwn.ID:
			c.params = params("token", madeFor(t, admin, "boss"))
		case api.ReleaseBrake.ID:
			eventually(t, "the brake", func() bool { return must[api.Ping](t, admin, api.PingFarm, nil, nil).Brake != "" })
		}
		var out json.RawMessage
		if err := admin.Call(t.Context(), c.e, c.params, c.body, &out); err != nil {
			t.Errorf("%s: %v", c.e.ID, err)
			continue
		}
		rows := newestRow(t, admin, c.e)
		var detail struct{ Before, After json.RawMessage }
		if len(rows) != 1 || json.Unmarshal(rows[0].Detail, &detail) != nil {
			t.Errorf("%s: %+v", c.e.ID, rows)
			continue
		}
		got := rows[0]
		if got.User != "boss" || got.Token != parts.ID || got.From != "127.0.0.1" || got.Verb != c.e.ID || !strings.HasPrefix(got.Object, c.object) || got.Outcome != "done" || got.Request == "" {
			t.Errorf("%s leaves %+v", c.e.ID, got)
		}
		if !strings.Contains(string(detail.Before), c.before) || !strings.Contains(string(detail.After), c.after) || strings.Contains(string(got.Detail), "hunter2") {
			t.Errorf("%s leaves %s, want %s before and %s after", c.e.ID, got.Detail, c.before, c.after)
		}
	}
	for _, e := range api.Endpoints {
		if changes(e) && !shown[e.ID] && !e.Exchanges() && e.Role != api.Anyone { // those take codes or join tokens, or a provider: TestLogin, TestUsesOfAJoinToken, TestSSO
			t.Errorf("endpoint %s changes something and has no line in audited", e.ID)
		}
	}
}

// madeFor is the newest valid token of a user.
func madeFor(t *testing.T, admin *api.Client, user string) string {
	t.Helper()
	var newest api.TokenInfo
	for _, token := range must[[]api.TokenInfo](t, admin, api.ListTokens, nil, nil) {
		if token.User == user && !token.Revoked && !token.CreatedAt.Before(newest.CreatedAt) {
			newest = token
		}
	}
	return newest.ID
}
