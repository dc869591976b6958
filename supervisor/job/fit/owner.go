package fit

import (
	"fmt"
	"iter"
	"maps"
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

// Of a remark.
const (
	namedHosts  = 3 // of a cause
	namedCauses = 3
)

// unserving is why a host runs no items of a user. Hosts for which it is equal have one text.
type unserving struct {
	kind    unservingKind
	refusal Refusal // of otherUser and refuses
	lowest  int     // of lowUID
}

type unservingKind int

const (
	serving unservingKind = iota
	otherUser
	unknownUser
	rootRefused
	lowUID
	refuses
)

// hostsOf are the hosts of one cause: the first ones by name, and how many there are.
type hostsOf struct {
	cause unserving
	first []string
	count int
}

func (c *hostsOf) add(name string) {
	c.count++
	n, _ := slices.BinarySearch(c.first, name)
	if n < namedHosts {
		c.first = slices.Insert(c.first[:min(len(c.first), namedHosts-1)], n, name)
	}
}

// Unserved is a remark if none of the hosts runs items of the user at present, with what to change; else "". Without an
// account only what the hosts report counts.
func Unserved(now time.Time, hosts iter.Seq[*Host], user string, account *Account) string {
	byCause := map[unserving]*hostsOf{}
	for h := range hosts {
		cause := h.unserving(now, user, account)
		if cause.kind == serving {
			return ""
		}
		if byCause[cause] == nil {
			byCause[cause] = &hostsOf{cause: cause}
		}
		byCause[cause].add(string(h.ID))
	}
	if len(byCause) == 0 {
		return ""
	}
	causes := slices.SortedFunc(maps.Values(byCause),
		func(a, b *hostsOf) int { return strings.Compare(a.first[0], b.first[0]) })
	var parts []string
	others := 0
	for n, c := range causes {
		if n >= namedCauses {
			others += c.count
			continue
		}
		list := strings.Join(c.first, ", ")
		if more := c.count - len(c.first); more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, list+": "+c.cause.text(user, account))
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("%d more hosts for other causes", others))
	}
	return fmt.Sprintf("no host runs jobs of %s, so the job waits until one does; %s", user, strings.Join(parts, "; "))
}

// unserving is why the host runs no items of the user, as far as that is known.
func (h *Host) unserving(now time.Time, user string, account *Account) unserving {
	o := h.Owners
	switch asOwner := o != nil && h.RunAs == "owner" && account != nil; {
	case h.RunAs == "agent" && h.AgentUser != "" && h.AgentUser != user:
		return unserving{kind: otherUser, refusal: h.refusesUser(user)}
	case asOwner && account.Unknown:
		return unserving{kind: unknownUser}
	case asOwner && account.UID == 0 && !o.AllowRoot:
		return unserving{kind: rootRefused}
	case asOwner && account.UID != 0 && int64(account.UID) < int64(o.LowestUID) && !slices.Contains(o.LowUsers, user):
		return unserving{kind: lowUID, lowest: o.LowestUID}
	case !h.RunsFor(now, user):
		return unserving{kind: refuses, refusal: h.avoidsUser(now, user).Alike()}
	}
	return unserving{}
}

// text says why, and what to change.
func (c unserving) text(user string, account *Account) string {
	switch c.kind {
	case otherUser:
		return c.refusal.userText() + "; submit as that user, or let root run the worker with worker_run_as = \"owner\""
	case unknownUser:
		return fmt.Sprintf("the host's worker runs items as their owners, and there is no user %s on this machine; add the user", user)
	case rootRefused:
		return "the host's worker runs no jobs of root; submit as another user, or set worker_allow_root = true there"
	case lowUID:
		return fmt.Sprintf("%s has the uid %d, below worker_lowest_uid = %d; list the user in its worker_low_users_file, or lower worker_lowest_uid there", user, account.UID, c.lowest)
	}
	return c.refusal.userText()
}
