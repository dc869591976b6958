package agenda

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"qb/internal/units"
)

// Limits of reservations.
const (
	maxReservations = 32
	maxResourceName = 64      // bytes
	maxUnits        = 1 << 30 // of one resource for one instance
)

// Unlimited as Reservation.Most means all that is free.
const Unlimited = -1

const reservations = "reservations"

// Classes of resources: of the host; of the whole farm (license ones are counted by somebody else too);
// one unit a host, however many instances it has; and of the farm with a part for each host.
var classes = []string{"host", "license", "global", "license_host", "global_host", "scoped"}

// Resources of a host that are sizes; all others are counted.
var sizedResources = []string{"memory", "swap", "scratch"}

// PerHost says whether one of the resource is counted for each host, however many instances run there.
func PerHost(name string) bool {
	return strings.HasPrefix(name, "license_host.") || strings.HasPrefix(name, "global_host.")
}

// Reservation is what each instance of a job takes of one resource. Sizes are in bytes.
type Reservation struct {
	Class, Name string // host and processors, license and nuke
	Least       int64  // must be free for the instance to start
	Most        int64  // what it takes if so much is free; Unlimited: all
	Idle        bool   // the host must run nothing else
}

// Reservations is what each instance of a job takes, in the order as written. Slots are called
// host.processors; who does not name them takes one.
type Reservations []Reservation

// ParseReservations reads a comma list such as
//
//	host.processors=4,host.memory=8GB,license.nuke=1
//
// host.processors may also be 1+ (all that are free, but at least 1), 2-4 (2 to 4 as there are free), 2*
// (all of a host that has at least 2 and runs nothing else) and all (the same as 1*). host.memory,
// host.swap and host.scratch are sizes, in MB where no unit is given, as in Qube. Any other name is a
// count of a resource that the site has defined: host.gpus=1, host.maya=1, global.render=2. Blank text
// reserves nothing but the one slot. An error is a *SyntaxError.
func ParseReservations(text string) (Reservations, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if count := strings.Count(text, ",") + 1; count > maxReservations {
		return nil, complaint(reservations, text, 0, "there are %d of them, more than %d; reserve fewer resources", count,
			maxReservations)
	}
	var list Reservations
	at := 0 // byte offset
	for raw := range strings.SplitSeq(text, ",") {
		word := strings.TrimSpace(raw)
		offset := at + strings.Index(raw, word)
		at += len(raw) + 1
		r, where, reason := parseReservation(word)
		if _, twice := list.Find(r.Class, r.Name); reason == "" && twice {
			where, reason = 0, fmt.Sprintf("%s is reserved twice; name it once", r.key())
		}
		if reason != "" {
			return nil, complaint(reservations, text, offset+where, "%s", reason)
		}
		list = append(list, r)
	}
	return list, nil
}

// parseReservation reads one; a reason that is not empty refuses it, at the byte where.
func parseReservation(word string) (r Reservation, where int, reason string) {
	if word == "" {
		return r, 0, "nothing stands here; remove the comma or write one such as host.processors=4"
	}
	key, amount, ok := strings.Cut(word, "=")
	class, name, dotted := strings.Cut(strings.TrimSpace(key), ".")
	switch {
	case !dotted || name == "":
		return r, 0, fmt.Sprintf("%s is no resource; write one such as host.processors=4 or license.nuke=1",
			units.Quoted(strings.TrimSpace(key)))
	case !slices.Contains(classes, class):
		return r, 0, fmt.Sprintf("there is no class of resources %s%s; there are %s", units.Quoted(class),
			suggestion(class, classes), units.Few(classes))
	case !validResource(name):
		return r, len(class) + 1, fmt.Sprintf("%s is no name of a resource; use at most %d letters, digits, dots, - and _",
			units.Quoted(name), maxResourceName)
	case !ok || strings.TrimSpace(amount) == "":
		return r, len(word), fmt.Sprintf("no amount is given for %s.%s; write %s.%s=1", class, name, class, name)
	}
	r = Reservation{Class: class, Name: name}
	where = len(key) + 1 + strings.Index(amount, strings.TrimSpace(amount))
	return r, where, r.readAmount(strings.TrimSpace(amount))
}

func validResource(name string) bool {
	return len(name) <= maxResourceName && strings.Trim(name, ".") == name && strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}) < 0
}

func (r *Reservation) sized() bool {
	return r.Class == "host" && slices.Contains(sizedResources, r.Name)
}
func (r *Reservation) slots() bool { return r.Class == "host" && r.Name == "processors" }
func (r *Reservation) key() string { return r.Class + "." + r.Name }

func (r *Reservation) readAmount(text string) (reason string) {
	if r.sized() {
		bytes, err := units.ParseSize(text, units.MiB)
		switch {
		case err != nil:
			return err.Error()
		case bytes == 0:
			return fmt.Sprintf("%s of nothing; leave it out or write more", r.key())
		}
		r.Least, r.Most = bytes, bytes
		return ""
	}
	if !r.slots() {
		r.Least, reason = r.readCount(text)
		r.Most = r.Least
		return reason
	}
	return r.readSlots(text)
}

// readSlots reads the amounts that only slots may have.
func (r *Reservation) readSlots(text string) (reason string) {
	if text == "all" {
		text = "1*"
	}
	least, open := strings.CutSuffix(text, "+")
	if !open {
		least, r.Idle = strings.CutSuffix(text, "*")
	}
	from, to, span := strings.Cut(least, "-")
	if span && from != "" && !open && !r.Idle {
		if r.Least, reason = r.readCount(from); reason != "" {
			return reason
		}
		if r.Most, reason = r.readCount(to); reason == "" && r.Most < r.Least {
			reason = fmt.Sprintf("%d-%d of %s is the wrong way round; write %d-%d", r.Least, r.Most, r.key(), r.Most, r.Least)
		}
		return reason
	}
	r.Least, reason = r.readCount(least)
	r.Most = r.Least
	if open || r.Idle {
		r.Most = Unlimited
	}
	return reason
}

func (r *Reservation) readCount(text string) (count int64, reason string) {
	count, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && (count < 0 || text[0] == '+'), err != nil && strings.Trim(text, "0123456789") != "", text == "":
		if r.slots() {
			return 0, fmt.Sprintf("%s is no number of %s; write 4, 1+, 2-4, 2* or all", units.Quoted(text), r.key())
		}
		return 0, fmt.Sprintf("%s is no number of %s; write a plain one such as 1", units.Quoted(text), r.key())
	case err != nil || count > maxUnits:
		return 0, fmt.Sprintf("%s of %s is more than any host or farm has; write at most %d", units.Quoted(text), r.key(),
			maxUnits)
	case count == 0:
		return 0, fmt.Sprintf("0 of %s reserves nothing; write at least 1 or leave it out", r.key())
	}
	return count, ""
}

// Find is what is reserved of a resource.
func (l Reservations) Find(class, name string) (Reservation, bool) {
	for _, r := range l {
		if r.Class == class && r.Name == name {
			return r, true
		}
	}
	return Reservation{}, false
}

// Slots is what each instance takes of a host's slots: one, if nothing is said of them.
func (l Reservations) Slots() Reservation {
	if r, ok := l.Find("host", "processors"); ok {
		return r
	}
	return Reservation{Class: "host", Name: "processors", Least: 1, Most: 1}
}

// Memory is the bytes reserved by each instance, 0 if nothing is said of them.
func (l Reservations) Memory() int64 {
	r, _ := l.Find("host", "memory")
	return r.Least
}
