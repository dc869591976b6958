package farm

import (
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/outbox"
)

// FairsharePolicy is how use is counted and what follows from it.
type FairsharePolicy struct {
	Order           bool          // the factor orders jobs of equal priority
	Weights         bool          // the factor weighs the surplus too
	PE              string        // sum (of the farm's totals) or max (of the host's)
	Rule            string        // tree or fair_tree
	HalfLife        time.Duration // of usage; 0: it never decays
	ChargePreempted bool
}

// ShareSet gives a place in the tree of shares its shares.
type ShareSet struct {
	Ticket outbox.Ticket
	Path   string
	Shares float64
	By     string
}

// CreditAdded gives an owner credit.
type CreditAdded struct {
	Ticket outbox.Ticket
	Owner  string
	Amount float64
	Source string
	Date   time.Time // zero: now
	By     string
}

func (ShareSet) event()    {}
func (CreditAdded) event() {}

// ShareReply answers ShareSet.
type ShareReply struct{ Share facts.ShareFacts }

// CreditReply answers CreditAdded.
type CreditReply struct{ Credit facts.CreditFacts }

// OwnerShare is where a payer stands. Usage and Running are decayed; Ahead is what the factor counts
// beyond them for work that runs.
type OwnerShare struct {
	facts.Payer
	Shares    float64      // as set, else 1
	Credit    float64      // decayed
	Effective float64      // shares, raised by credit
	Usage     facts.Charge // of ended attempts
	Running   facts.Charge // so far
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
