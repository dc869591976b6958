package fit

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Owners are the users as whom a worker of root runs items, as it reports them.
type Owners struct {
	AllowRoot bool
	LowestUID int
	LowUsers  []string // with a lower uid
}

// Account is a user as the supervisor's machine knows it; all workers are taken to know the same.
type Account struct {
	UID     uint32
	Unknown bool // there is no such user
}

// namedHosts is how many hosts a remark names.
const namedHosts = 3

// Unserved is a remark if none of the hosts runs items of the user at present, with what to change; else "". Without an
// account only what the hosts report counts.
func Unserved(now time.Time, hosts iter.Seq[*Host], user string, account *Account) string {
	byCause := map[string][]string{}
	for h := range hosts {
		cause := h.notAs(user, account)
		if cause == "" && !h.RunsFor(now, user) {
			cause = h.refusesUser(user).userText()
		}
		if cause == "" {
			return ""
		}
		byCause[cause] = append(byCause[cause], string(h.ID))
	}
	var parts []string
	for cause, names := range byCause {
		slices.Sort(names)
		list := strings.Join(names[:min(len(names), namedHosts)], ", ")
		if more := len(names) - namedHosts; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, list+": "+cause)
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return fmt.Sprintf("no host runs jobs of %s, so the job waits until one does; %s", user, strings.Join(parts, "; "))
}

// notAs says why the worker cannot run items as the user, and what to change; "" if nothing is known against it.
func (h *Host) notAs(user string, account *Account) string {
	switch o := h.Owners; {
	case h.RunAs == "agent" && h.AgentUser != "" && h.AgentUser != user:
		return h.refusesUser(user).userText() + "; submit as that user, or let root run the worker with worker_run_as = \"owner\""
	case o == nil || h.RunAs != "owner" || account == nil:
		return ""
	case account.Unknown:
		return fmt.Sprintf("its worker runs items as their owners, and there is no user %s on this machine; add the user", user)
	case account.UID == 0 && !o.AllowRoot:
		return "its worker runs no jobs of root; submit as another user, or set worker_allow_root = true there"
	case account.UID != 0 && int64(account.UID) < int64(o.LowestUID) && !slices.Contains(o.LowUsers, user):
		return fmt.Sprintf("%s has the uid %d, below worker_lowest_uid = %d; list the user in its worker_low_users_file, or lower worker_lowest_uid there", user, account.UID, o.LowestUID)
	}
	return ""
}
