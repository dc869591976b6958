package api

// EventKind is a type of event. Each has at, type and, as far as there are any, code, params and cause.
type EventKind struct {
	Type    string
	Topic   string // the event's name in the stream: job, item, host or farm
	Members string // the members that are not null, besides at and type
	In      string // stream, history or both
	Text    string
}

// EventKinds is the list of all types of events; docs/events.md shows it. Others may be added.
var EventKinds = []EventKind{
	{"job-submitted", "job", "job", "stream", "The job is there. Its history begins with it"},
	{"job-changed", "job", "job, status", "stream", "Its listing has changed: its status, its counts, its reason or an attribute. `code` and `cause` are why items wait"},
	{"modified", "job", "job", "both", "A person changed attributes"},
	{"ordered-kill", "job", "job", "both", "A person killed the job or items of it"},
	{"ordered-retry", "job", "job", "both", "A person had items run again"},
	{"ordered-requeue", "job", "job", "both", "A person had items run again, the running ones as well"},
	{"ordered-redo", "job", "job", "both", "A person had complete items run again"},
	{"ordered-block", "job", "job", "both", "A person blocked the job or items"},
	{"ordered-unblock", "job", "job", "both", "A person unblocked the job or items"},
	{"ordered-interrupt", "job", "job", "both", "A person interrupted items"},
	{"ordered-preempt", "job", "job", "both", "A person preempted instances"},
	{"ordered-shove", "job", "job", "both", "A person had a place looked for again"},
	{"ordered-top", "job", "job", "both", "A person put the job before others of its cluster and priority"},
	{"ordered-bottom", "job", "job", "both", "A person put the job behind others of its cluster and priority"},
	{"ordered-complete", "job", "job", "both", "A person marked items complete"},
	{"ordered-fail", "job", "job", "both", "A person marked items failed"},
	{"order-refused", "job", "job", "both", "An order that had waited for another one is not possible any more"},
	{"job-blocked", "job", "job", "both", "qb blocked the job"},
	{"unblocked", "job", "job", "both", "All jobs that it depended on have ended"},
	{"job-complete", "job", "job", "both", "The job has ended, all items are complete"},
	{"job-failed", "job", "job", "both", "The job has ended with failed items"},
	{"job-killed", "job", "job", "both", "The job was killed and has ended"},
	{"compacted", "job", "job", "history", "Its attempts became daily sums"},
	{"logs-removed", "job", "job", "both", "The output of its items was removed"},

	{"item-started", "item", "job, item, instance, host", "both", "An attempt has started; in the stream `cause` is its kind, primary or secondary"},
	{"item-done", "item", "job, item, instance, host", "both", "The attempt was successful, the item is complete"},
	{"item-failed", "item", "job, item, instance, host", "both", "The attempt failed"},
	{"item-killed", "item", "job, item, instance, host", "both", "The attempt was killed"},
	{"item-preempted", "item", "job, item, instance, host", "both", "The attempt was ended to make room; the item is pending again"},
	{"item-lost", "item", "job, item, instance, host", "both", "The attempt was given up; the item is pending again"},
	{"stopped", "item", "job, item, instance, host", "both", "The attempt was ordered to end; its end follows"},
	{"draining", "item", "job, item, instance, host", "both", "The instance takes no further item"},
	{"kept", "item", "job, item, instance, host", "both", "The instance takes further items after all"},
	{"left", "item", "job, item, instance, host", "both", "The instance has ended and its slots are free"},
	{"promoted", "item", "job, item, instance, host", "both", "A secondary instance is primary now"},
	{"demoted", "item", "job, item, instance, host", "both", "A primary instance is secondary now"},
	{"slow", "item", "job, item, instance, host", "both", "The item runs unusually long"},
	{"timeout", "item", "job, item, instance, host", "both", "The instance or the item runs longer than the `timeout` or `agenda_timeout` of its job; `code` says which. Nothing is ended"},
	{"host-avoided", "item", "job, item, instance, host", "both", "Attempts of the job failed on the host one after the other; the job avoids it for a while"},
	{"cpu-overuse", "item", "job, item, instance, host", "both", "The item used more processor time than its slots have"},
	{"out-of-memory", "item", "job, item, instance, host", "both", "The item ran out of memory"},
	{"unkillable", "item", "job, item, instance, host", "both", "Processes of the item do not end"},
	{"item-held", "item", "job, item", "both", "qb blocked the item"},

	{"host-registered", "host", "host, status", "stream", "A new host"},
	{"host-changed", "host", "host, status", "stream", "Its listing has changed: its state, slots, instances, groups or resources"},
	{"host-locked", "host", "host", "stream", "The host takes no new items"},
	{"host-unlocked", "host", "host", "stream", "The host takes items again"},
	{"host-suspect", "host", "host", "stream", "Items failed on the host that other hosts complete, or it lacks working folders that others have"},
	{"host-confirmed-dead", "host", "host", "stream", "A person confirmed that nothing runs on the host"},
	{"host-removed", "host", "host", "stream", "A person removed the host"},
	{"host-renamed", "host", "host", "stream", "The host has another name now"},
	{"host-name-claimed", "host", "host", "stream", "Another machine reports the host's name and is refused"},

	{"brake-engaged", "farm", "", "stream", "Many hosts fell silent at once; their items are not moved"},
	{"brake-released", "farm", "", "stream", "Items of silent hosts are moved again"},
	{"policy", "farm", "", "stream", "The configuration was read again"},
	{"share-set", "farm", "", "stream", "A share was set"},
	{"account-added", "farm", "", "stream", "An account or members of one were added"},
	{"account-removed", "farm", "", "stream", "An account or members of one were removed"},
	{"budget-set", "farm", "", "stream", "A budget was set or taken away"},
	{"publication-reported", "farm", "", "stream", "A user reported a publication"},
	{"publication-decided", "farm", "", "stream", "A reported publication was accepted or rejected"},
	{"profile-changed", "farm", "", "stream", "A person corrected a profile, or had it forgotten"},
	{"credit-added", "farm", "", "stream", "Credit was added"},
	{"logs-removed-early", "farm", "", "stream", "Logs of the oldest finished jobs were removed, as their disk was short of room"},
	{"read-only", "farm", "", "stream", "The database has no room: nothing can be changed, what runs goes on"},
	{"writable", "farm", "", "stream", "The database has room again"},
	{"restored", "farm", "", "stream", "The database was restored; the farm listens to its hosts before it goes on"},
	{"superseded", "farm", "", "stream", "The hosts obey a copy of this database; this one gives nothing out"},
	{"reset", "reset", "", "stream", "Events were missed: read the lists again"},
}
