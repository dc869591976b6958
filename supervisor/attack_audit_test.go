package supervisor

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/store"
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

// TestAttackWithoutTrace: who changes, makes tokens, reads others' output or is refused is in the trail; a change at the
// moment that it is answered.
func TestAttackWithoutTrace(t *testing.T) {
	r := startRig(t)
	admin, ann := r.client("boss", api.Admin), r.client("ann", api.User)
	mallory := r.token("mallory", api.User)
	secret := "hunter2"
	job := must[api.SubmitReply](t, ann, api.Submit, nil, api.SubmitRequest{Command: []string{"true", secret}, Env: map[string]string{"PASSWORD": secret}, Status: "blocked"}).Job
	want := []string{fmt.Sprintf("ann done submit job %d", job)}
	if got := trail(t, admin, "user", "ann"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after a submission: %q", got)
	}
	must[api.SubmitReply](t, ann, api.Modify, params("job", job), api.ModifyRequest{Priority: ptr(7)})
	must[api.ActionReply](t, ann, api.OrderJob, params("job", job, "action", "kill"), nil)
	want = append([]string{fmt.Sprintf("ann done order-job job %d", job), fmt.Sprintf("ann done modify-job job %d", job)}, want...)
	if got := trail(t, admin, "user", "ann"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after a change and an order: %q", got)
	}
	made := must[api.TokenReply](t, admin, api.CreateToken, nil, api.TokenRequest{User: "x", Role: "user"})
	must[api.RevokeReply](t, admin, api.RevokeToken, params("token", made.ID), nil)
	if got := trail(t, admin, "user", "boss"); len(got) != 2 || got[0] != "boss done revoke-token token "+made.ID || got[1] != "boss done create-token token "+made.ID {
		t.Errorf("tokens: %q", got)
	}
	path := fmt.Sprintf("/v1/jobs/%d/orders/kill", job)
	if got := r.raw("POST", path, mallory, "", nil).StatusCode; got != http.StatusForbidden {
		t.Fatal(got)
	}
	_ = admin.Call(t.Context(), api.ItemLog, params("job", job, "item", "1"), nil, nil) // it has not run; he tried
	r.raw("GET", "/v1/jobs", "qb_admin_0123456789abcdef_"+strings.Repeat("A", 43), "", nil)
	for _, line := range []string{"mallory refused order-job " + path + " forbidden", fmt.Sprintf("boss read item-log job %d item 1", job), "refused GET /v1/jobs unauthorized"} {
		eventually(t, line, func() bool { return strings.Contains(strings.Join(trail(t, admin), "\n"), line) })
	}
	page := text(t, r.raw("GET", "/v1/audit?limit=1000", r.token("boss2", api.Admin), "", nil))
	if strings.Contains(page, secret) || strings.Contains(page, made.Token) {
		t.Error("a secret is in the trail")
	}
	if !strings.Contains(page, `"before":{"priority":9999}`) || !strings.Contains(page, `"after":{"priority":7}`) {
		t.Errorf("the change of a priority is not told: %s", page)
	}
}

// TestAttackAuditFlood: refusals and reads fill no database: so many are noted, the rest is counted.
func TestAttackAuditFlood(t *testing.T) {
	r := startRig(t)
	mallory := r.token("mallory", api.User)
	began := time.Now()
	for range 300 {
		r.raw("GET", "/v1/tokens", mallory, "", nil).Body.Close()
	}
	admin := r.client("boss", api.Admin)
	eventually(t, "the first ones are noted", func() bool { return len(trail(t, admin, "user", "mallory")) >= auditBurst })
	time.Sleep(2 * auditPause)
	if got := len(trail(t, admin, "user", "mallory", "limit", 1000)); got > auditBurst+20+int(auditEach*time.Since(began).Seconds()) {
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
