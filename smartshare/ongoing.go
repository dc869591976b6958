package smartshare

import "slices"

// Ongoing is a division of alike slots that is kept while claims come, slots come free and demands change
// one after another: each change moves what it must along one shortest way, so that it costs about as much
// as there is to move, and the levels stay what Divide would give. All weights are one, nobody has an owner
// and there are no tiers. Primaries that run are in no number: they only take room.
//
// A unit is held (a secondary that runs), or promised (it starts when a slot of its class comes free).
// Moving a promise costs nothing; moving what is held costs a stop there and a start elsewhere.
type Ongoing struct {
	by     []Term
	opens  [][]bool // by group and class
	groups [][]int  // by group: claims
	room   []int    // by class: slots that nobody holds or is promised
	waits  []int    // by class: promises
	users  [][]user // by class: claims that have, or had, something there
	keys   []Key    // by claim
	order  []int    // claims in dispatch order
	place  []int    // by claim, in it
	group  []int    // by claim
	level  []int    // by claim: secondaries held and promised
	limit  []int    // by claim: most of them
	need   []int    // by claim: primaries without a place
	ahead  []int    // by claim: primaries promised
	later  []int    // by claim: secondaries promised
	units  [][]unit // by claim

	touched         []int  // claims, see TakeTouched
	isTouched       []bool // by claim
	unmet, aheadAll int    // sums of need and ahead
	stops           []Put  // held units that were moved away since TakeStops
	ways            ways
	tops            tops
}

// Put is a unit of a claim in a class.
type Put struct{ Claim, Class int }

// unit is what a claim has in a class.
type unit struct{ class, held, primaries, secondaries int }

// user is where a claim has it.
type user struct{ claim, at int }

// NewOngoing has classes with so much room, nobody in them, and no group that may use them.
func NewOngoing(room []int, by []Term) *Ongoing {
	o := &Ongoing{by: by, room: slices.Clone(room), waits: make([]int, len(room)), users: make([][]user, len(room))}
	o.ways.grow(len(room))
	o.tops.class = make([]topClass, len(room))
	return o
}

// AddGroup gives the number of claims' new group, to which these classes are open.
func (o *Ongoing) AddGroup(open []int) int {
	opens := make([]bool, len(o.room))
	for _, c := range open {
		opens[c] = true
	}
	o.opens, o.groups = append(o.opens, opens), append(o.groups, nil)
	return len(o.opens) - 1
}

// Add gives the number of a new claim, which has nothing and wants nothing yet. Its key's Tie is its own.
func (o *Ongoing) Add(group int, key Key) int {
	k := len(o.keys)
	o.keys, o.group, o.groups[group] = append(o.keys, key), append(o.group, group), append(o.groups[group], k)
	o.level, o.limit, o.need = append(o.level, 0), append(o.limit, 0), append(o.need, 0)
	o.ahead, o.later, o.units = append(o.ahead, 0), append(o.later, 0), append(o.units, nil)
	o.isTouched = append(o.isTouched, false)
	at, _ := slices.BinarySearchFunc(o.order, key, func(other int, key Key) int { return compareKeys(&o.keys[other], &key, o.by) })
	o.order, o.place = slices.Insert(o.order, at, k), append(o.place, 0)
	for n := at; n < len(o.order); n++ {
		o.place[o.order[n]] = n
	}
	return k
}

// unit is the claim's account in the class.
func (o *Ongoing) unit(claim, class int) *unit {
	for n := range o.units[claim] {
		if o.units[claim][n].class == class {
			return &o.units[claim][n]
		}
	}
	o.users[class] = append(o.users[class], user{claim, len(o.units[claim])})
	o.units[claim] = append(o.units[claim], unit{class: class})
	return &o.units[claim][len(o.units[claim])-1]
}

// Hold books a secondary that runs; class -1 is one that no change may move. It takes no room: what is held
// when it begins is not in the room it is given.
func (o *Ongoing) Hold(claim, class int) {
	o.level[claim]++
	o.touch(claim)
	if class >= 0 {
		o.unit(claim, class).held++
	}
}

// Ended books that a secondary is gone, and says whether that leaves its slot vacant, for Fill to give to
// somebody: not if it was to be stopped anyway.
func (o *Ongoing) Ended(claim, class int) (vacant bool) {
	if n := slices.Index(o.stops, Put{claim, class}); n >= 0 {
		o.stops = slices.Delete(o.stops, n, n+1)
		return false
	}
	o.Release(claim, class)
	return true
}

// TakeStops tells which held units have been moved away since the last time. One that its claim would start
// again in the same class stays instead.
func (o *Ongoing) TakeStops() []Put {
	var stops []Put
	for _, s := range o.stops {
		if u := o.unit(s.Claim, s.Class); u.secondaries > 0 {
			o.takeBack(s.Claim, u, Secondary)
			o.Hold(s.Claim, s.Class)
			continue
		}
		stops = append(stops, s)
	}
	o.stops = o.stops[:0]
	return stops
}

// Release books that a held secondary is no more one; whose its slot is, is the caller's to say.
func (o *Ongoing) Release(claim, class int) {
	o.level[claim]--
	o.touch(claim)
	if class >= 0 {
		o.unit(claim, class).held--
	}
}

func (o *Ongoing) want(claim, more int) {
	if more != 0 {
		o.touch(claim)
	}
	o.need[claim] += more
	o.unmet += more
}

func (o *Ongoing) touch(claim int) {
	if !o.isTouched[claim] {
		o.isTouched[claim] = true
		o.touched = append(o.touched, claim)
	}
}

// TakeTouched tells of which claims Promised, Unmet or Level may have changed since the last time, in no order. The
// list is good until the next change.
func (o *Ongoing) TakeTouched() []int {
	touched := o.touched
	for _, claim := range touched {
		o.isTouched[claim] = false
	}
	o.touched = o.touched[:0]
	return touched
}

// Promised are the primaries and secondaries of a claim that wait for a slot to come free.
func (o *Ongoing) Promised(claim int) (primaries, secondaries int) {
	return o.ahead[claim], o.later[claim]
}

// Level is how many secondaries a claim holds and is promised.
func (o *Ongoing) Level(claim int) int { return o.level[claim] }

// Unmet is how many primaries of a claim have no place.
func (o *Ongoing) Unmet(claim int) int { return o.need[claim] }

// Demand sets what a claim may have: primaries beside those that run, and secondaries in all. What it is
// promised beyond that is taken back, and its classes are returned, each as often as it has a vacant slot.
// What it is promised as a secondary becomes a primary first. Secondaries it holds stay, whatever the limit.
func (o *Ongoing) Demand(claim, primaries, secondaries int) (vacant []int) {
	for o.ahead[claim] > primaries {
		vacant = append(vacant, o.withdraw(claim, Primary))
	}
	o.want(claim, primaries-o.ahead[claim]-o.need[claim])
	for o.need[claim] > 0 && o.later[claim] > 0 {
		class := o.withdraw(claim, Secondary)
		o.promise(claim, class, Primary)
		o.want(claim, -1)
	}
	o.limit[claim] = secondaries
	for o.level[claim] > secondaries && o.later[claim] > 0 {
		vacant = append(vacant, o.withdraw(claim, Secondary))
	}
	return vacant
}

// Kind of what is promised.
type Kind uint8

// The kinds.
const (
	Primary Kind = iota
	Secondary
)

func (o *Ongoing) promise(claim, class int, kind Kind) {
	o.touch(claim)
	o.waits[class]++
	u := o.unit(claim, class)
	if kind == Primary {
		u.primaries++
		o.ahead[claim]++
		o.aheadAll++
		return
	}
	u.secondaries++
	o.later[claim]++
	o.level[claim]++
}

// withdraw takes a promise back and tells where it was.
func (o *Ongoing) withdraw(claim int, kind Kind) (class int) {
	for n := range o.units[claim] {
		u := &o.units[claim][n]
		if kind == Primary && u.primaries > 0 || kind == Secondary && u.secondaries > 0 {
			o.takeBack(claim, u, kind)
			return u.class
		}
	}
	panic("smartshare: a promise is taken back that was not given")
}

func (o *Ongoing) takeBack(claim int, u *unit, kind Kind) {
	o.touch(claim)
	o.waits[u.class]--
	if kind == Primary {
		u.primaries--
		o.ahead[claim]--
		o.aheadAll--
		return
	}
	u.secondaries--
	o.later[claim]--
	o.level[claim]--
}

// Promise books, when it begins, a start that waits for a slot of the class; likewise it is not in
// the room.
func (o *Ongoing) Promise(claim, class int, kind Kind) { o.promise(claim, class, kind) }

// Next is who starts in a class where a slot has come free, and turns the promise into what runs: primaries
// in dispatch order, then secondaries, the lowest first. A primary that waits elsewhere changes places with
// a secondary that would start here. It is false if nobody was promised a slot there.
func (o *Ongoing) Next(class int) (claim int, kind Kind, ok bool) {
	best, kind := -1, Secondary
	for _, who := range o.users[class] {
		switch u := &o.units[who.claim][who.at]; {
		case u.primaries > 0 && (kind == Secondary || o.place[who.claim] < o.place[best]):
			best, kind = who.claim, Primary
		case u.secondaries > 0 && kind == Secondary && (best < 0 || o.startsBefore(who.claim, best)):
			best = who.claim
		}
	}
	if best < 0 {
		return 0, 0, false
	}
	if kind == Secondary && o.aheadAll > 0 {
		if p := o.swapIn(best, class); p >= 0 {
			best, kind = p, Primary
		}
	}
	o.takeBack(best, o.unit(best, class), kind)
	if kind == Secondary {
		o.Hold(best, class)
	}
	return best, kind, true
}

// startsBefore orders secondaries that wait: who would stand lower goes first.
func (o *Ongoing) startsBefore(a, b int) bool {
	la, lb := o.level[a]-o.later[a], o.level[b]-o.later[b]
	return la < lb || la == lb && o.place[a] < o.place[b]
}

// swapIn lets the first primary that waits elsewhere, and may start in the class, change places with a
// secondary that is promised a slot here; -1 if there is none.
func (o *Ongoing) swapIn(secondary, class int) int {
	best, at := -1, 0
	for p := range o.ahead {
		if o.ahead[p] == 0 || best >= 0 && o.place[p] > o.place[best] || !o.opens[o.group[p]][class] {
			continue
		}
		for n := range o.units[p] {
			if u := &o.units[p][n]; u.primaries > 0 && o.opens[o.group[secondary]][u.class] {
				best, at = p, n
				break
			}
		}
	}
	if best < 0 {
		return -1
	}
	from := &o.units[best][at]
	from.primaries--
	o.unit(secondary, class).secondaries--
	o.unit(secondary, from.class).secondaries++
	o.unit(best, class).primaries++
	return best
}

// SetRoom sets, when it begins, how many slots of the class nobody holds or is promised.
func (o *Ongoing) SetRoom(class, slots int) { o.room[class] = slots }

// Limit is the most secondaries that a claim may have.
func (o *Ongoing) Limit(claim int) int { return o.limit[claim] }

// Holds says whether the claim holds a secondary in the class; -1 stands for those that no change may move.
func (o *Ongoing) Holds(claim, class int) bool {
	return class < 0 || o.unit(claim, class).held > 0
}

// AllUnmet is how many primaries of all claims have no place.
func (o *Ongoing) AllUnmet() int { return o.unmet }

// Waiting is how many primaries wait for a slot to come free.
func (o *Ongoing) Waiting() int { return o.aheadAll }

// Waits is how many starts wait in the class.
func (o *Ongoing) Waits(class int) int { return o.waits[class] }
