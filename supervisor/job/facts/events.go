package facts

import (
	"time"
)

// EventFacts is a line of history that no other row tells: orders, promotions, locks, terms.
type EventFacts struct {
	At       time.Time
	Type     string
	Job      JobID
	Item     ItemNo // -1 for none
	Instance int    // -1 for none
	Host     HostID
	By       string
	Why
}

// FarmEvent is an event of the farm as a whole.
func FarmEvent(at time.Time, kind string, why Why) EventFacts {
	return EventFacts{At: at, Type: kind, Item: -1, Instance: -1, Why: why}
}

// LogsRemoved says that the output of a job's items was removed.
func LogsRemoved(id JobID, at time.Time) EventFacts {
	e := FarmEvent(at, "logs-removed", Why{Cause: "the output of its items until then"})
	e.Job = id
	return e
}

// LogsRemovedEarly says that logs of the oldest jobs were removed, as their disk was short of room.
func LogsRemovedEarly(at time.Time, why string) EventFacts {
	return FarmEvent(at, "logs-removed-early", Why{Cause: why})
}
