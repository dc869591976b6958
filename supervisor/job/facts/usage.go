package facts

import (
	"time"

	"qb/smartshare/fairshare"
)

// Charge is what was used, in CPU-equivalent seconds by resource.
type Charge struct{ CPU, RAM, GPU, Scratch float64 }

// Total is the sum over the resources.
func (c Charge) Total() float64 { return c.CPU + c.RAM + c.GPU + c.Scratch }

// Plus adds another charge.
func (c Charge) Plus(o Charge) Charge {
	return Charge{c.CPU + o.CPU, c.RAM + o.RAM, c.GPU + o.GPU, c.Scratch + o.Scratch}
}

// Payer is who pays: an owner, within an account ("" for none; a path such as show/shot).
type Payer struct{ Account, Owner string }

// Path is the payer's place in the tree of shares.
func (p Payer) Path() string {
	if p.Account == "" {
		return p.Owner
	}
	return p.Account + "/" + p.Owner
}

// UsageFacts is the row of a payer: all charges, decayed to At.
type UsageFacts struct {
	Payer
	Charge
	At time.Time
}

// ShareFacts is the row of a place in the tree of shares. Path is ada, show/shot/ada or, for an account,
// show/shot/ with a slash at its end.
type ShareFacts struct {
	Path   string    `json:"path"`
	Shares float64   `json:"shares"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// CreditFacts is a row of credit.
type CreditFacts struct {
	Owner   string    `json:"owner"`
	Amount  float64   `json:"amount"`
	Source  string    `json:"source"`
	Date    time.Time `json:"date"` // from when it counts and decays
	By      string    `json:"by"`
	AddedAt time.Time `json:"added_at"`
}

// AccountFacts is the row of an account. The lists are sorted and never nil.
type AccountFacts struct {
	Path       string    `json:"path"`
	Users      []string  `json:"users"`       // members; *: everybody
	Groups     []string  `json:"groups"`      // whose users are members
	DefaultFor []string  `json:"default_for"` // members whose jobs name no account; *: who has no other
	By         string    `json:"by"`
	At         time.Time `json:"at"`
}

// BudgetFacts is the row of a budget: what a place in the tree of shares may use, in CPU-equivalent seconds.
type BudgetFacts struct {
	Path   string    `json:"path"`
	Amount float64   `json:"amount"`
	Period int64     `json:"period"` // seconds before each moment; 0: it holds for decayed usage
	Beyond string    `json:"beyond"` // wait or idle
	Since  time.Time `json:"since"`  // begin of the latest part of the period
	Spent  []float64 `json:"spent"`  // by attempts that ended in each part, the latest first; never changed in place
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// PublicationFacts is the row of what a user reports as published.
type PublicationFacts struct {
	Source string    `json:"source"`
	Owner  string    `json:"owner"`
	Date   time.Time `json:"date"`
	State  string    `json:"state"` // reported, accepted, rejected
	By     string    `json:"by"`    // whose word the state is
	At     time.Time `json:"at"`
}

// RowTime is a time as the rows keep it.
func RowTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Plus is usage after a charge; a late charge decays from when it was due.
func (u UsageFacts) Plus(c Charge, at time.Time, halfLife time.Duration) UsageFacts {
	at = RowTime(at)
	age := at.Sub(u.At).Seconds()
	add := func(value, amount float64) float64 {
		return fairshare.Usage{Value: value}.Charge(age, amount, halfLife.Seconds()).Value
	}
	u.Charge = Charge{add(u.CPU, c.CPU), add(u.RAM, c.RAM), add(u.GPU, c.GPU), add(u.Scratch, c.Scratch)}
	if age > 0 {
		u.At = at
	}
	return u
}

// Decayed is usage decayed to a moment.
func (u UsageFacts) Decayed(now time.Time, halfLife time.Duration) Charge {
	left := fairshare.Usage{Value: 1}.Read(now.Sub(u.At).Seconds(), halfLife.Seconds())
	return Charge{u.CPU * left, u.RAM * left, u.GPU * left, u.Scratch * left}
}
