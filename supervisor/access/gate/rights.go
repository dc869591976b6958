package gate

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/job/facts"
)

// Job is what rights on a job depend on.
type Job struct {
	ID       facts.JobID // 0: it is no job
	Owner    string
	Security facts.Security // what its owner lets others do
}

// JobOf is a job as rights see it.
func JobOf(f facts.JobFacts) Job {
	security, _ := facts.ReadSecurity(f.Security) // the submission was checked; what cannot be read gives nothing
	return Job{f.ID, f.User, security}
}

// Object is what a request acts on, as far as rights are concerned.
type Object struct {
	Job
	rights api.Rights // of the owner's row; those of the role user without one
	groups []string   // of the owner
	access string     // supervisor_log_access
}

// OwnedBy is something that belongs to a user and is no job.
func OwnedBy(owner string) *Object { return &Object{Job: Job{Owner: owner}} }

// object looks up what rights on an owner's job, or on his behalf, depend on.
func (g *Gate) object(ctx context.Context, j Job) (*Object, error) {
	c := g.config()
	o := &Object{Job: j, access: c.LogAccess, rights: c.UserRights()}
	if p := PrincipalOf(ctx); j.Owner == p.User || p.Rights.Has(api.MayAdmin) {
		return o, nil
	}
	row, found, err := g.Tokens.Person(ctx, j.Owner)
	if err == nil && found && credentials.PersonHolds(g.Key, row) {
		o.rights, o.groups = credentials.RowRights(row, c.UserRights()), row.Groups
	}
	return o, err
}

// MayOn asks for the right to something that belongs to an owner and is no job.
func (g *Gate) MayOn(ctx context.Context, e api.Endpoint, owner string) error {
	return g.MayJob(ctx, e, "", Job{Owner: owner})
}

// MayJob asks for the right to a job, for orders to that action.
func (g *Gate) MayJob(ctx context.Context, e api.Endpoint, action string, j Job) error {
	o, err := g.object(ctx, j)
	if err != nil {
		return err
	}
	return Authorise(PrincipalOf(ctx), e, action, o)
}

// MayModify asks for the right to give a job new values of some attributes.
func (g *Gate) MayModify(ctx context.Context, j Job, given []*facts.Attribute) error {
	o, err := g.object(ctx, j)
	if err != nil {
		return err
	}
	p := PrincipalOf(ctx)
	if err := Authorise(p, api.Modify, "", o); err != nil {
		return err
	}
	for _, a := range given {
		if err := mayGive(p, a, o); err != nil {
			return err
		}
	}
	return nil
}

// mayGive asks for what an attribute needs beyond the right to change the job. What runs as a user is decided by who
// may submit as that user: a right to the job is none to the account.
func mayGive(p credentials.Principal, a *facts.Attribute, o *Object) error {
	why := ""
	switch {
	case a.Effect == facts.Offers, a.Effect == facts.Permits && o.Owner == p.User:
		return nil
	case a.Effect == facts.Permits:
		// Judged as if the job gave no access to others: users with access to the job cannot pass it on, and a user who
		// may not read the log cannot let others read it.
		private := *o
		private.Security = facts.Security{}
		if err := cmp.Or(Authorise(p, api.Modify, "", &private), Authorise(p, api.ItemLog, "", o)); err != nil {
			why = "what other users may do with the job, which needs the right to change it and to read its output: " +
				err.Error()
		}
	case p.SubmitsFor(o.Owner, o.rights):
		if err := byRights(p, api.Submit, ""); err != nil {
			why = fmt.Sprintf("what runs as %s: %v", o.Owner, err)
		}
	default:
		why = fmt.Sprintf(
			"what runs as %s, and %s (role %s) lacks the right to submit as %s, which a change of it needs; leave %s out, or ask for the right: %s",
			o.Owner, p.User, p.Role, o.Owner, a.Name, givingSubmitAs(p, o.Owner))
	}
	if why == "" {
		return nil
	}
	return &api.Error{Kind: api.KindForbidden, Member: a.Name, Text: a.Name + " decides " + why}
}

// Authorise is the only place that decides who may do what. The action is the action of an order, "" for other
// endpoints. With no object only the rights of the credential count; the caller asks again once it knows whose the
// object is.
func Authorise(p credentials.Principal, e api.Endpoint, action string, o *Object) error {
	if err := byRights(p, e, action); err != nil {
		return err
	}
	if p.Exchange && !e.Exchanges() && e.Role != api.Anyone {
		return api.Errorf(api.KindForbidden,
			"token %s is good for being exchanged alone, as qb worker -join does; use the token that it was exchanged for",
			p.Token)
	}
	if p.Pending != "" && e.Role != api.Anyone {
		return &api.Error{Kind: api.KindConflict, Code: api.CodeHostPending, Text: fmt.Sprintf(
			"host %q (key %s) waits for approval: an admin compares the key with the one in qbhosts and runs qbadmin worker -approve %s",
			p.Pending, credentials.Fingerprint(p.HostKey), p.Pending)}
	}
	if o == nil || o.Owner == p.User {
		return nil
	}
	return onOthers(p, e, action, o)
}

// byRights asks for the right that the endpoint needs, whosever the object is.
func byRights(p credentials.Principal, e api.Endpoint, action string) error {
	if e.Role == api.Anyone || e.Role == api.Worker && p.Role == api.Worker {
		return nil
	}
	need := e.Right(action)
	if e.Role == api.Worker || p.Role == api.Worker || p.Rights == 0 {
		return lacksRole(p, e, action)
	}
	if need == 0 && p.Rights&^(api.MaySee|api.MayReadLogs) == 0 || !p.Rights.Has(need) {
		return lacksRight(p, e, action, need)
	}
	return nil
}

// onOthers asks for the right to what belongs to another.
func onOthers(p credentials.Principal, e api.Endpoint, action string, o *Object) error {
	lets := o.Security.For(p.SharesGroup(o.groups))
	switch e.ID {
	case api.Submit.ID, api.CheckSubmission.ID, api.TrySubmission.ID, api.SubmitOpenJD.ID, api.CheckOpenJD.ID:
		if !p.SubmitsFor(o.Owner, o.rights) {
			return api.Errorf(api.KindForbidden,
				"user = %q: %s (role %s) lacks the right to submit as %s; leave the user out, or ask for the right: %s",
				o.Owner, p.User, p.Role, o.Owner, givingSubmitAs(p, o.Owner))
		}
	case api.Modify.ID, api.OrderJob.ID, api.OrderJobs.ID:
		bit := facts.LetModify
		what := "change"
		letter := "m"
		if action == string(facts.Kill) {
			bit = facts.LetKill
			what = "kill"
			letter = "k"
		}
		if !p.SeesAll() && !p.LeadsAny(o.groups) && !lets.Has(bit) {
			return lacksOnJob(p, o, what, permitted(o, letter), leading(p, o))
		}
	case api.ArchiveJob.ID:
		if !p.SeesAll() {
			return lacksOnJob(p, o, "archive")
		}
	case api.RemoveJob.ID:
		if !p.SeesAll() {
			return lacksOnJob(p, o, "remove")
		}
	case api.ItemLog.ID, api.SessionLog.ID, api.ItemPicture.ID, api.FindInLog.ID:
		may := o.access == "all" || o.access == "group" && p.SharesGroup(o.groups)
		if o.Security.Given {
			may = lets.Has(facts.LetView)
		}
		if !p.SeesAll() && !may {
			return lacksOnJob(p, o, "read the output of", permitted(o, "v")+", as "+o.whyHidden()+" hides it")
		}
	case api.ListProfiles.ID, api.SetProfile.ID, api.ForgetProfile.ID:
		if !p.SeesAll() {
			return api.Errorf(api.KindForbidden,
				"user = %q: the profiles belong to %s, and %s (role %s) lacks the right sudo, which profiles of other users need; the role operator has it; an admin gives it with qbadmin user set %s -role operator",
				o.Owner, o.Owner, p.User, p.Role, p.User)
		}
	case api.RevokeOwn.ID:
		return api.Errorf(api.KindForbidden,
			"this token is another user's, and %s (role %s) lacks the right admin, which tokens of other users need; an admin revokes it with qbadmin token revoke",
			p.User, p.Role)
	case api.GetPerson.ID:
		if !p.Rights.Has(api.MayAdmin) {
			return api.Errorf(api.KindForbidden,
				"%s (role %s) lacks the right admin, which the entry of %s needs; an admin reads it with qbadmin user list", p.User,
				p.Role, o.Owner)
		}
	default: // an endpoint about which nothing is said here
		if e.Method != http.MethodGet && !p.Rights.Has(api.MayAdmin) {
			return api.Errorf(api.KindForbidden,
				"%s (role %s) lacks the right admin, which %s for %s needs; an admin gives it with qbadmin user set %s -role admin",
				p.User, p.Role, e.ID, o.Owner, p.User)
		}
	}
	return nil
}

// whyHidden names what hides the output of a job's items.
func (o *Object) whyHidden() string {
	if o.Security.Given {
		return "the job's -security"
	}
	return fmt.Sprintf("supervisor_log_access = %q", o.access)
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
