package farm

import "time"

// FairsharePolicy is how use is counted and what follows from it.
type FairsharePolicy struct {
	Order           bool          // the factor orders jobs of equal priority
	Weights         bool          // the factor weighs the surplus too
	PE              string        // sum (of the farm's totals) or max (of the host's)
	Rule            string        // tree or fair_tree
	HalfLife        time.Duration // of usage; 0: it never decays
	ChargePreempted bool
}

// Charge is what was used, in CPU-equivalent seconds by resource.
type Charge struct{ CPU, RAM, GPU, Scratch float64 }

// Total is the sum over the resources.
func (c Charge) Total() float64 { return c.CPU + c.RAM + c.GPU + c.Scratch }

// Payer is who pays: an owner, within an account ("" for none; a path such as show/shot).
type Payer struct{ Account, Owner string }

// path is the payer's place in the tree of shares.
func (p Payer) path() string {
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
	Path   string
	Shares float64
	By     string
	At     time.Time
}

// CreditFacts is a row of credit.
type CreditFacts struct {
	Owner   string
	Amount  float64
	Source  string
	Date    time.Time // from when it counts and decays
	By      string
	AddedAt time.Time
}

// ChargeUsage writes a payer's row as it is after the ends of the same batch.
type ChargeUsage struct{ Usage UsageFacts }

// PutShare inserts or updates a place's row.
type PutShare struct{ Share ShareFacts }

// AddCredit inserts a row of credit.
type AddCredit struct{ Credit CreditFacts }

func (ChargeUsage) write() {}
func (PutShare) write()    {}
func (AddCredit) write()   {}

// ShareSet gives a place in the tree of shares its shares.
type ShareSet struct {
	Ticket Ticket
	Path   string
	Shares float64
	By     string
}

// CreditAdded gives an owner credit.
type CreditAdded struct {
	Ticket Ticket
	Owner  string
	Amount float64
	Source string
	Date   time.Time // zero: now
	By     string
}

func (ShareSet) event()    {}
func (CreditAdded) event() {}

// ShareReply answers ShareSet.
type ShareReply struct{ Share ShareFacts }

// CreditReply answers CreditAdded.
type CreditReply struct{ Credit CreditFacts }

// OwnerShare is where a payer stands. Usage and Running are decayed; Ahead is what the factor counts
// beyond them for work that runs.
type OwnerShare struct {
	Payer
	Shares    float64 // as set, else 1
	Credit    float64 // decayed
	Effective float64 // shares, raised by credit
	Usage     Charge  // of ended attempts
	Running   Charge  // so far
	Ahead     float64
	Entitled  float64 // fraction of the farm
	Received  float64 // fraction of all that is counted
	Counted   float64 // the same with the account's part, as the factor's rule takes it
	Factor    float64
	Rank      int
}

// ShareReport is where everybody stands at a moment, by rank.
type ShareReport struct {
	At     time.Time
	Policy FairsharePolicy
	Weight float64 // of the factor in the points of the order multifactor; 0: none
	Owners []OwnerShare
}
