package gate

import (
	"context"
	"fmt"
	"strings"

	"qb/api"
	"qb/supervisor/credentials"
	"qb/supervisor/facts"
)

// Object is what a request acts on, as far as rights are concerned.
type Object struct {
	Owner  string
	job    facts.JobID // 0: it is no job
	role   api.Role    // of the owner's row; "" without one
	groups []string    // of the owner
	access string      // supervisor_log_access
}

// object looks up what rights on an owner's job, or on his behalf, depend on.
func (g *Gate) object(ctx context.Context, owner string, job facts.JobID) (*Object, error) {
	o := &Object{Owner: owner, job: job, access: g.config().LogAccess}
	if p := PrincipalOf(ctx); owner == p.User || p.Role == api.Admin {
		return o, nil
	}
	row, found, err := g.Tokens.Person(ctx, owner)
	if err == nil && found && credentials.PersonHolds(g.Key, row) {
		o.role, o.groups = api.Role(row.Role), row.Groups
	}
	return o, err
}

// MayOn asks for the right to something that belongs to an owner.
func (g *Gate) MayOn(ctx context.Context, e api.Endpoint, owner string, job facts.JobID) error {
	o, err := g.object(ctx, owner, job)
	if err != nil {
		return err
	}
	return Authorise(PrincipalOf(ctx), e, o)
}

// Authorise is the one place that says who may do what. With no object only the role counts; the caller
// asks again once it knows whose the object is.
func Authorise(p credentials.Principal, e api.Endpoint, o *Object) error {
	if !p.Role.Allows(e.Role) {
		return api.Errorf(api.KindForbidden, "%s (%s) may not: %s; it needs the role %s", p.User, p.Role, lowerFirst(e.Summary), e.Role)
	}
	if p.Exchange && !e.Exchanges() && e.Role != api.Anyone {
		return api.Errorf(api.KindForbidden, "token %s is good for being exchanged alone, as qb worker -join does; use the token that it was exchanged for", p.Token)
	}
	if p.Pending != "" && e.Role != api.Anyone {
		return &api.Error{Kind: api.KindConflict, Code: api.CodeHostPending, Text: fmt.Sprintf(
			"host %q (key %s) waits for approval: an admin compares the key with the one in qbhosts and runs qbadmin worker -approve %s", p.Pending, credentials.Fingerprint(p.HostKey), p.Pending)}
	}
	if o == nil || o.Owner == p.User {
		return nil
	}
	switch e.ID {
	case api.Submit.ID, api.CheckSubmission.ID, api.TrySubmission.ID:
		if !p.SubmitsFor(o.Owner, o.role) {
			return api.Errorf(api.KindForbidden, "user = %q: only an admin, or who was given the right to submit as %s (qbadmin user set -submitas), may submit for others; leave it out", o.Owner, o.Owner)
		}
	case api.Modify.ID, api.OrderJob.ID, api.OrderJobs.ID:
		if !p.SeesAll() && !p.LeadsAny(o.groups) {
			return api.Errorf(api.KindForbidden, "job %d belongs to %s; %s may change own jobs and those of groups that %s leads only, an operator those of all", o.job, o.Owner, p.User, p.User)
		}
	case api.RemoveJob.ID:
		if !p.SeesAll() {
			return api.Errorf(api.KindForbidden, "job %d belongs to %s; %s may remove own jobs only, an operator those of all", o.job, o.Owner, p.User)
		}
	case api.ItemLog.ID:
		if !p.SeesAll() && o.access != "all" && (o.access != "group" || !p.SharesGroup(o.groups)) {
			return api.Errorf(api.KindForbidden, "job %d belongs to %s, whose output %s may not read: supervisor_log_access = %q", o.job, o.Owner, p.User, o.access)
		}
	case api.ListProfiles.ID, api.SetProfile.ID, api.ForgetProfile.ID:
		if !p.SeesAll() {
			return api.Errorf(api.KindForbidden, "user = %q: %s may read and change own profiles only, an operator those of all", o.Owner, p.User)
		}
	case api.RevokeOwn.ID:
		return api.Errorf(api.KindForbidden, "this token is another user's; an admin revokes it with qbadmin token revoke")
	case api.GetPerson.ID:
		if p.Role != api.Admin {
			return api.Errorf(api.KindForbidden, "%s may read the own entry only, an admin those of all users", p.User)
		}
	}
	return nil
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
