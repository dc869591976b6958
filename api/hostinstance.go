package api

import "time"

// HostInstance is one instance that runs on a host.
type HostInstance struct {
	Job  int64  `json:"job"`
	Kind string `json:"kind" enum:"primary,secondary"`
	Item string `json:"item"`
	Next string `json:"next,omitempty" doc:"Item that it holds ahead and begins by itself when it has done the one that it has."`

	Number   int              `json:"number" doc:"Of the item, from 0 in agenda order."`
	Attempt  int              `json:"attempt"`
	Instance int              `json:"instance" doc:"N of JOB.N."`
	Slots    int              `json:"slots" doc:"Slots that it takes; 0 while others may have them, as it is suspended."`
	Memory   int64            `json:"memory" doc:"Bytes promised to it."`
	Holds    map[string]int64 `json:"holds,omitempty" doc:"Other resources it holds, such as host.gpus or license.nuke."`
	Devices  []int            `json:"devices,omitempty" doc:"GPUs of the host that it holds."`

	State         string     `json:"state" enum:"active,draining,suspended,resuming,stopping,loaded,unloading" doc:"draining: it ends after its item; loaded: it has no item, and its program waits for one; unloading: its program ends; suspended: its processes stand still; resuming: they do until its slots are free; stopping: it ends now."`
	ItemStartedAt *time.Time `json:"item_started_at,omitempty"`

	SuspendedAt      *time.Time `json:"suspended_at,omitempty" doc:"Since when its processes stand still by order; absent: they run."`
	SuspendedSeconds float64    `json:"suspended_seconds,omitempty" doc:"Seconds for which they did before, while it had this item."`
}
