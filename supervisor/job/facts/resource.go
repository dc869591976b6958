package facts

import "time"

// ResourceFacts is the row of a resource of the whole farm, such as a licence: what was reported of its use by others,
// and what items have found.
type ResourceFacts struct {
	Name       string    `json:"name"`    // as license.nuke
	Total      int64     `json:"total"`   // by the last report; negative: it did not say
	Outside    int64     `json:"outside"` // used by others than the farm, by the last report
	By         string    `json:"by"`      // who reported: a user, or the worker of a host
	ReportedAt time.Time `json:"reported_at"`

	// The farm takes at most so many until then, as items found none; negative: it is not lowered. Wait is for how many
	// seconds, and Probed that one more has been allowed since the last item that found none.
	Lowered      int64     `json:"lowered"`
	LoweredUntil time.Time `json:"lowered_until"`
	Wait         float64   `json:"wait"`
	Probed       bool      `json:"probed"`
}
