package message

import (
	"time"

	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// SenderBlocked says that events of a sender are refused for a while, as they broke the farm's state. A host is locked,
// and a job that the farm's own work breaks on is blocked.
type SenderBlocked struct {
	facts.Sender
	Until time.Time
	Times int
	Cause string
}

func (SenderBlocked) event() {}

// From is where an event comes from, and the ticket of its reply.
func From(e Event) (facts.Sender, outbox.Ticket) {
	switch e := e.(type) {
	case JobSubmitted:
		return facts.Sender{Kind: "JobSubmitted", Owner: e.By}, e.Ticket
	case JobModified:
		return facts.Sender{Kind: "JobModified", Job: e.Job, Owner: e.By}, e.Ticket
	case JobAction:
		return facts.Sender{Kind: "JobAction " + string(e.Action), Job: e.Job, Owner: e.By}, e.Ticket
	case JobsAged:
		return facts.Sender{Kind: "JobsAged"}, e.Ticket
	case HostLocked:
		return facts.Sender{Kind: "HostLocked", Host: e.Host, Owner: e.By}, e.Ticket
	case HostConfirmedDead:
		return facts.Sender{Kind: "HostConfirmedDead", Host: e.Host, Owner: e.By}, e.Ticket
	case HostRemoved:
		return facts.Sender{Kind: "HostRemoved", Host: e.Host, Owner: e.By}, e.Ticket
	case BrakeReleased:
		return facts.Sender{Kind: "BrakeReleased", Owner: e.By}, e.Ticket
	case WorkerSynced:
		return facts.Sender{Kind: Report, Host: e.Host.ID}, e.Ticket
	case SyncLeft:
		return facts.Sender{Kind: "SyncLeft", Host: e.Host.ID}, 0
	case AccountsChanged:
		return facts.Sender{Kind: "AccountsChanged", Owner: e.By}, e.Ticket
	case ProfileChanged:
		return facts.Sender{Kind: "ProfileChanged", Owner: e.By}, e.Ticket
	case ResourceReported:
		return facts.Sender{Kind: "ResourceReported", Owner: e.By}, e.Ticket
	case PolicyChanged:
		return facts.Sender{Kind: "PolicyChanged", Owner: e.By}, e.Ticket
	}
	return facts.Sender{Kind: "Ticked"}, 0
}

// Report is the kind of a worker's reports.
const Report = "WorkerSynced"
