package api

import (
	"slices"
	"strconv"
	"strings"
)

// Rights is a set of rights: what a credential may do. A role is a named set, and a user's row may have a set of its
// own. The bits are the same as in Qube's supervisor_default_security, so that qb can read its numbers.
type Rights uint32

// The rights. See and Output are qb's own.
const (
	MaySubmit    Rights = 1 << 0
	MayBump      Rights = 1 << 3
	MayKill      Rights = 1 << 4
	MayRemove    Rights = 1 << 5
	MayModify    Rights = 1 << 6
	MayPreempt   Rights = 1 << 7
	MayBlock     Rights = 1 << 8
	MayInterrupt Rights = 1 << 9
	MayComplete  Rights = 1 << 10
	MayUnblock   Rights = 1 << 11
	MaySuspend   Rights = 1 << 12
	MayResume    Rights = 1 << 13
	MayRetry     Rights = 1 << 14
	MayRequeue   Rights = 1 << 15
	MayMigrate   Rights = 1 << 16
	MayShove     Rights = 1 << 17
	MayFail      Rights = 1 << 18
	MayRetire    Rights = 1 << 19
	MaySee       Rights = 1 << 21
	MayReadLogs  Rights = 1 << 22
	MayLock      Rights = 1 << 27
	MaySudo      Rights = 1 << 28
	MayAdmin     Rights = 1 << 30

	noEffect Rights = 1<<1 | 1<<2 | 1<<20 // of Qube's callbacks and reset
)

// Right names one right.
type Right struct {
	Name string
	Bit  Rights
	Text string
}

// AllRights are all of them, in the order in which they are shown.
var AllRights = []Right{
	{"admin", MayAdmin, "users, tokens, the audit trail, and what is not named here"},
	{"sudo", MaySudo, "jobs of all users, shares, accounts and the farm, as the role operator"},
	{"lock", MayLock, "lock and unlock hosts"},
	{"submit_job", MaySubmit, "submit jobs, keep their profiles, report publications"},
	{"kill", MayKill, "kill jobs and items"},
	{"remove", MayRemove, "remove ended jobs"},
	{"modify", MayModify, "change jobs"},
	{"preempt", MayPreempt, "take instances back at the end of their items"},
	{"block", MayBlock, "block jobs and items"},
	{"unblock", MayUnblock, "unblock jobs and items"},
	{"interrupt", MayInterrupt, "stop items, which are pending again"},
	{"complete", MayComplete, "have items count as complete"},
	{"suspend", MaySuspend, "suspend jobs"},
	{"resume", MayResume, "let suspended jobs go on"},
	{"retry", MayRetry, "run ended items again (retry and redo)"},
	{"requeue", MayRequeue, "run ended items again once the job is unblocked"},
	{"migrate", MayMigrate, "move items to other hosts"},
	{"bump", MayBump, "put jobs before or behind others of their priority (top and bottom)"},
	{"shove", MayShove, "have a job looked at again"},
	{"fail", MayFail, "have items count as failed"},
	{"retire", MayRetire, "end instances after their items"},
	{"output", MayReadLogs, "read the output of items"},
	{"see", MaySee, "see jobs, hosts and the farm"},
}

// EveryRight is the set of all rights; UserRights may be given to users without the role operator.
var (
	EveryRight = func() (all Rights) {
		for _, r := range AllRights {
			all |= r.Bit
		}
		return all
	}()
	UserRights = EveryRight &^ (MayAdmin | MaySudo)
)

// Rights is the set that the role names. That of users can be set: supervisor_default_security.
func (r Role) Rights(ofUsers Rights) Rights {
	if r == User {
		return ofUsers
	}
	return map[Role]Rights{ReadOnly: MaySee, Operator: EveryRight &^ MayAdmin, Admin: EveryRight}[r]
}

// DefaultRights are the rights of the role user, unless supervisor_default_security says otherwise.
const DefaultRights = Rights(0xffff9) | MaySee | MayReadLogs

// Has says whether all of the others are in the set.
func (r Rights) Has(others Rights) bool { return r&others == others }

// Names are the names of the rights in the set.
func (r Rights) Names() []string {
	names := []string{}
	for _, one := range AllRights {
		if r.Has(one.Bit) {
			names = append(names, one.Name)
		}
	}
	return names
}

func (r Rights) String() string { return strings.Join(r.Names(), ",") }

// RightsOf reads names of rights; wrong is the first that is none.
func RightsOf(names []string) (r Rights, wrong string) {
	for _, name := range names {
		n := slices.IndexFunc(AllRights, func(one Right) bool { return one.Name == name })
		if n < 0 {
			return r, name
		}
		r |= AllRights[n].Bit
	}
	return r, ""
}

// ReadRights reads supervisor_default_security: a number of Qube's, or names of rights with commas. Without see, which
// Qube does not have, a user could do nothing: a number has it, and the right to read output.
func ReadRights(text string) (r Rights, wrong string) {
	if n, err := strconv.ParseUint(strings.TrimSpace(text), 0, 32); err == nil {
		r = Rights(n) &^ noEffect
		if r&^EveryRight != 0 {
			return 0, text
		}
		return r | MaySee | MayReadLogs, ""
	}
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return RightsOf(names)
}

// ofEndpoint are the rights that endpoints need beside what their role says.
var ofEndpoint = map[string]Rights{
	Submit.ID: MaySubmit, CheckSubmission.ID: MaySubmit, SubmitOpenJD.ID: MaySubmit, CheckOpenJD.ID: MaySubmit,
	Modify.ID: MayModify, RemoveJob.ID: MayRemove,
	ItemLog.ID: MayReadLogs, SessionLog.ID: MayReadLogs, ItemPicture.ID: MayReadLogs, FindInLog.ID: MayReadLogs,
	LockHost.ID: MayLock, UnlockHost.ID: MayLock,
}

// ofRole are the rights that endpoints need for which there is no other.
var ofRole = map[Role]Rights{Admin: MayAdmin, Operator: MaySudo, User: MaySubmit, ReadOnly: MaySee}

// ofAction are the rights that orders need, where they do not have the order's name.
var ofAction = map[string]Rights{"redo": MayRetry, "top": MayBump, "bottom": MayBump}

// Right is what a credential needs for the endpoint, for an order that of its action. 0: any credential will do, or one
// of a worker.
func (e Endpoint) Right(action string) Rights {
	if e.ID == OrderJob.ID || e.ID == OrderJobs.ID {
		right, _ := RightsOf([]string{action})
		if right |= ofAction[action]; right == 0 && action != "" {
			return MayModify // refused as no order
		}
		return right
	}
	if right := ofEndpoint[e.ID]; right != 0 {
		return right
	}
	return ofRole[e.Role]
}
