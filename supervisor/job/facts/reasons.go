package facts

import (
	"cmp"
	"fmt"
	"strconv"

	"qb/internal/units"
)

// Reason is why an attempt stops or ended, as a code. Programs decide by it; rows and answers carry it, so that a code
// once given keeps its meaning. A reader meets codes of newer releases too.
type Reason string

// Why an attempt stops, or takes no next item: by a person's order, or as SmartShare has other use for its slot.
const (
	ReasonKilled         Reason = "killed"          // its item is killed with it
	ReasonBlocked        Reason = "blocked"         // its item waits until it is unblocked
	ReasonInterrupted    Reason = "interrupted"     // its item is pending again
	ReasonMigrated       Reason = "migrated"        // its item is pending again, and its job avoids the host for a while
	ReasonMarkedComplete Reason = "marked_complete" // its item counts as complete
	ReasonMarkedFailed   Reason = "marked_failed"   // its item counts as failed
	// by an earlier attempt, whose host reported it late; its item counts as complete
	ReasonDoneBefore Reason = "done_before"
	ReasonHostLocked Reason = "host_locked" // by a person, with the wish that its items run elsewhere
	ReasonSentAway   Reason = "sent_away"   // its instance goes at its item's end
	ReasonRetired    Reason = "retired"     // the same, and its job is narrower
	ReasonSuspended  Reason = "suspended"   // it is frozen until a user resumes it
	// it was resumed, and waits on its host for the slots that it gave back
	ReasonResuming       Reason = "resuming"
	ReasonNoItemsLeft    Reason = "no_items_left"
	ReasonWidthLowered   Reason = "width_lowered"
	ReasonPrimaryWaits   Reason = "primary_waits"
	ReasonBetterPriority Reason = "better_priority"
	ReasonSurplusShared  Reason = "surplus_shared"
	ReasonRestored       Reason = "restored" // the rows were put back, and its host does not know it
)

// Why an attempt ended that no one stopped.
const (
	ReasonExit         Reason = "exit"   // a status other than 0
	ReasonSignal       Reason = "signal" // none of qb's
	ReasonLaunchFailed Reason = "launch_failed"
	// on its host: the working folder; also why the host does not serve the job
	ReasonFolderMissing     Reason = "folder_missing"
	ReasonFolderDenied      Reason = "folder_denied"      // the same, it is closed to the job's owner there
	ReasonEnvironment       Reason = "environment_failed" // one of its job could not be entered on its host; also the same
	ReasonTimeLimit         Reason = "time_limit"
	ReasonPreflight         Reason = "preflight_failed" // of the instance
	ReasonAgendaPreflight   Reason = "agenda_preflight_failed"
	ReasonPostflight        Reason = "postflight_failed"
	ReasonOutputMissing     Reason = "output_missing"     // or too small
	ReasonNoLicence         Reason = "no_licence"         // by a pattern of the site's, in its output or exit status
	ReasonLogError          Reason = "log_error"          // a line of its output says so
	ReasonHandedBack        Reason = "handed_back"        // it was held ahead, and not begun
	ReasonNoReport          Reason = "no_report"          // its program of a load-once job ended without a report of it
	ReasonMemoryLimit       Reason = "memory_limit"       // its own
	ReasonOutOfMemory       Reason = "out_of_memory"      // its host's
	ReasonMemoryUnavailable Reason = "memory_unavailable" // it was not started
	ReasonHostMemoryLow     Reason = "host_memory_low"    // its host took back what is reserved for others
	ReasonHostSwapping      Reason = "host_swapping"      // its host swapped more than it may
	// its host keeps its slots for people, who want them back at once
	ReasonHostInUse      Reason = "host_in_use"
	ReasonHostRefused    Reason = "host_refused"
	ReasonUIDDiffers     Reason = "uid_differs" // the owner's name is another user's on its host
	ReasonLogUnwritable  Reason = "log_unwritable"
	ReasonLogIncomplete  Reason = "log_incomplete" // it was done
	ReasonProcessesLeft  Reason = "processes_left" // it was done
	ReasonWorkerStopped  Reason = "worker_stopped"
	ReasonNotWanted      Reason = "not_wanted" // its worker ended it, as no answer listed it any more
	ReasonNoRecord       Reason = "no_record"
	ReasonUnknownOutcome Reason = "unknown_outcome" // a newer worker has a word for it
	ReasonHostSilent     Reason = "host_silent"
	ReasonHostDeaf       Reason = "host_deaf"
	ReasonHostRestarted  Reason = "host_restarted"
	ReasonConfirmedDead  Reason = "confirmed_dead"
)

// Why items of a job wait.
const (
	ReasonNotYetKnown    Reason = "not_yet_known" // the job was submitted or changed a moment ago
	ReasonOrderUnderWay  Reason = "order_under_way"
	ReasonWaitsForJobs   Reason = "waits_for_jobs" // ReasonBlocked: it waits for a person
	ReasonItemsHeld      Reason = "items_held"
	ReasonStaysOpen      Reason = "stays_open"      // a person ends the job
	ReasonWaitsForItems  Reason = "waits_for_items" // of other jobs
	ReasonWaitsForLabel  Reason = "waits_for_label" // no job of its process group has it yet
	ReasonNoWorker       Reason = "no_worker"
	ReasonNoHostUp       Reason = "no_host_up"
	ReasonNoHostFits     Reason = "no_host_fits"
	ReasonWidthReached   Reason = "width_reached"
	ReasonResourceUsedUp Reason = "resource_used_up" // of the farm, or on the hosts that fit
	ReasonSlotsTaken     Reason = "slots_taken"
	ReasonHasAllSlots    Reason = "has_all_slots" // that fit it
	// all others are taken, and the job or its user is kept from some for a while
	ReasonHostsAvoided   Reason = "hosts_avoided"
	ReasonSlotsScattered Reason = "slots_scattered" // some are free, and no host that fits has enough of them
	ReasonKeptForJob     Reason = "kept_for_job"
	ReasonKeptForResumed Reason = "kept_for_resumed" // an item that was resumed there needs them to go on
	ReasonMemoryShort    Reason = "memory_short"
	ReasonHostsShort     Reason = "hosts_short" // the hosts with free slots lack different things
	ReasonAboutToStart   Reason = "about_to_start"
	ReasonRetryDelay     Reason = "retry_delay"  // items failed and wait before they are tried again
	ReasonStartsLater    Reason = "starts_later" // at a time that was asked for
	ReasonNextPlan       Reason = "next_plan"
	ReasonOverBudget     Reason = "over_budget"
	// of its user, process group or account; also why an instance takes no next item
	ReasonInstanceLimit Reason = "instance_limit"
)

// ReasonItemsFailed is why a job has failed.
const ReasonItemsFailed Reason = "items_failed"

// Why a host does not serve a job, whatever runs there now.
const (
	ReasonUserRefused     Reason = "user_refused" // it runs nothing for the job's owner, for ever or for a while
	ReasonNotInHosts      Reason = "not_in_hosts"
	ReasonInOmitHosts     Reason = "in_omithosts"
	ReasonNotInGroups     Reason = "not_in_groups"
	ReasonInOmitGroups    Reason = "in_omitgroups"
	ReasonRestricted      Reason = "restricted" // its cluster is not within the job's restrictions
	ReasonJobType         Reason = "job_type"   // it runs no jobs of this type
	ReasonSystem          Reason = "system"     // of another family, and its paths are not mapped
	ReasonTooFewSlots     Reason = "too_few_slots"
	ReasonTooLittleMemory Reason = "too_little_memory"
	ReasonTooLittle       Reason = "too_little_of_resource"
	ReasonRequirement     Reason = "requirement_fails"
	ReasonFailedThere     Reason = "failed_there" // items of the job failed there one after the other
)

// Why a host has a remark; ReasonHostDeaf: it acknowledges no answer.
const (
	ReasonLockedByQb    Reason = "locked_by_qb"
	ReasonImpossible    Reason = "impossible_report"
	ReasonOtherDatabase Reason = "other_database" // it obeys one
	ReasonTakesNoItems  Reason = "takes_no_items" // its worker says why
	// others use its processors; also, as the next three, why an instance takes no next item
	ReasonForeignCPU     Reason = "foreign_cpu"
	ReasonKeptByCalendar Reason = "kept_by_calendar"
	ReasonPeoplePresent  Reason = "people_present"
	ReasonSlotsLocked    Reason = "slots_locked"    // some of them, by a person
	ReasonAwaitsApproval Reason = "awaits_approval" // it has joined, and a person must let it
	ReasonBeingRemoved   Reason = "being_removed"   // by a person; also its lock_reason
	ReasonOnTrial        Reason = "on_trial"        // after its lock, with one item
)

// Why an instance takes no next item on its host.
const (
	ReasonTimeLimitReached    Reason = "timelimit_reached"
	ReasonHostUnavailable     Reason = "host_unavailable"
	ReasonSlotsLowered        Reason = "slots_lowered"
	ReasonReservationsChanged Reason = "reservations_changed"
)

// Why the farm records an event of a type that has several causes.
const (
	ReasonOrdered          Reason = "ordered"          // a person asked for it
	ReasonDependencyEnded  Reason = "dependency_ended" // the last job that it waited for
	ReasonItemsEnded       Reason = "items_ended"      // the last ones that it waited for
	ReasonLabelAppeared    Reason = "label_appeared"   // in the job's process group
	ReasonPrimariesMissing Reason = "primaries_missing"
	ReasonCPUsLowered      Reason = "cpus_lowered"
	ReasonSlotNotNeeded    Reason = "slot_not_needed"
	ReasonHostsLost        Reason = "hosts_lost"        // under the item, one after the other
	ReasonNothingCompletes Reason = "nothing_completes" // of the job, on several hosts
	ReasonReportsRefused   Reason = "reports_refused"   // of a host, as they broke the farm's state
	// the planner panics, or takes too many steps: on the job, or on no job by itself
	ReasonPlanFails        Reason = "plan_fails"
	ReasonUsersItemsFail   Reason = "users_items_fail"  // on the host, and no other user's
	ReasonItemsFail        Reason = "items_fail"        // on the host
	ReasonTooManyLocked    Reason = "too_many_locked"   // so that the host is not, though items fail on it
	ReasonProcessesOutlive Reason = "processes_outlive" // KILL
	ReasonLockEnded        Reason = "lock_ended"        // that of qb itself
	ReasonHostsHeard       Reason = "hosts_heard"       // again, or they are lost
	ReasonTooManyMarks     Reason = "too_many_marks"    // on the job's items, if the order were carried out
	ReasonInstanceTimeout  Reason = "timeout"
	ReasonItemTimeout      Reason = "agenda_timeout"
	ReasonMailRefused      Reason = "mail_refused"  // by the mail server, for good
	ReasonMailAddress      Reason = "mail_address"  // it has none that could be used
	ReasonMailUnsent       Reason = "mail_unsent"   // for too long
	ReasonMailsWaiting     Reason = "mails_waiting" // too many of the owner
)

// OutOfMemory is whether an attempt that failed so ran out of memory: its item runs again with more, and is charged no
// retry.
func (r Reason) OutOfMemory() bool { return r == ReasonMemoryLimit || r == ReasonOutOfMemory }

// ForLicence is whether an attempt failed as it found no licence: that teaches nothing of its host.
func (r Reason) ForLicence() bool { return r == ReasonNoLicence }

// Uncharged is whether an attempt that failed so is charged no retry.
func (r Reason) Uncharged() bool { return r.OutOfMemory() || r.ForLicence() }

// ForMemory is whether an attempt ended for want of memory, having started or not: that teaches nothing of its host.
func (r Reason) ForMemory() bool { return r.OutOfMemory() || r == ReasonMemoryUnavailable }

// ForLack is whether an attempt found no working folder, or could not enter an environment of its job: a fault of its
// host, or of all hosts.
func (r Reason) ForLack() bool {
	return r == ReasonFolderMissing || r == ReasonFolderDenied || r == ReasonEnvironment
}

// Params are the parameters of a reason, as far as it has them.
type Params struct {
	By       string  `json:"by,omitempty"`       // whose order it was, or who blocked the job
	Host     HostID  `json:"host,omitempty"`     // that is lost, or kept for another job
	Job      JobID   `json:"job,omitempty"`      // that gets the slot; of width_lowered the attempt's own
	User     string  `json:"user,omitempty"`     // of that job, where it matters
	Share    string  `json:"share,omitempty"`    // how surplus is shared: equally, by_user, by_fairshare
	Outcome  string  `json:"outcome,omitempty"`  // as the newer worker names it
	Resource string  `json:"resource,omitempty"` // that is used up
	Folder   string  `json:"folder,omitempty"`   // the job's working folder
	Option   string  `json:"option,omitempty"`   // the limit that was reached: timelimit, agendatimelimit
	Limit    int64   `json:"limit,omitempty"`    // seconds, bytes, or instances
	Earlier  bool    `json:"earlier,omitempty"`  // its instance had run other items before, which count towards the limit
	Seconds  float64 `json:"seconds,omitempty"`  // for which it ran
	Largest  int64   `json:"largest,omitempty"`  // bytes of the largest host that serves the job
	Offer    int64   `json:"offer,omitempty"`    // bytes that such a host can offer
	State    string  `json:"state,omitempty"`    // of the job that ended
	Hosts    int     `json:"hosts,omitempty"`    // on which it happened
	Users    int     `json:"users,omitempty"`    // whose items failed
	Failed   int     `json:"failed,omitempty"`   // items
	Items    int     `json:"items,omitempty"`    // of so many
	End      Reason  `json:"end,omitempty"`      // how all of them failed, if alike
	ExitCode int     `json:"exit_code,omitempty"`
	Signal   int     `json:"signal,omitempty"`
	Label    string  `json:"label,omitempty"` // of the job that is waited for
	Path     string  `json:"path,omitempty"`  // of the place in the tree of shares whose budget is used up
	Until    string  `json:"until,omitempty"` // when jobs will fit it again
	Wait     int64   `json:"wait,omitempty"`  // seconds until its item is tried again
}

// Why is a reason with its parameters, and the sentence that tells a person. The sentence decides nothing.
type Why struct {
	Reason Reason
	Params Params
	Cause  string
}

// Failure is how items failed, if alike; else zero.
type Failure struct {
	Reason           Reason
	ExitCode, Signal int
}

// FailureOf is how an attempt failed.
func FailureOf(why Reason, exitCode, signal *int) Failure {
	f := Failure{Reason: why}
	if exitCode != nil {
		f.ExitCode = *exitCode
	}
	if signal != nil {
		f.Signal = *signal
	}
	return f
}

// EndOf is why an attempt ended that no one stopped. Detail is what the worker says.
func EndOf(r Reason, exitCode, signal *int, detail string) Why {
	p := Params{}
	switch how := FailureOf(r, exitCode, signal); r {
	case ReasonExit:
		p.ExitCode = how.ExitCode
	case ReasonSignal:
		p.Signal = how.Signal
	}
	return Because(r, p, detail)
}

// FailedItems is why a job has failed.
func FailedItems(j *JobFacts, failed, items int, how Failure) Why {
	p := Params{Job: j.ID, Failed: failed, Items: items, End: how.Reason, ExitCode: how.ExitCode, Signal: how.Signal}
	if how.Reason.ForLack() && how.Reason != ReasonEnvironment {
		p.Folder = j.Cwd
	}
	return Because(ReasonItemsFailed, p, "")
}

// Because makes the sentence. Detail is what the worker says, of ends that it reports.
func Because(r Reason, p Params, detail string) Why {
	cause := detail
	if sentence := sentences[r]; sentence != nil {
		cause = sentence(p, detail)
	}
	return Why{r, p, cause}
}

var sentences = map[Reason]func(p Params, detail string) string{
	ReasonKilled:         func(p Params, _ string) string { return "killed by " + p.By },
	ReasonSuspended:      suspendedBy,
	ReasonResuming:       resumingSentence,
	ReasonBlocked:        func(p Params, _ string) string { return "blocked by " + p.By },
	ReasonInterrupted:    func(p Params, _ string) string { return "interrupted by " + p.By },
	ReasonMigrated:       func(p Params, _ string) string { return "migrated by " + p.By },
	ReasonMarkedComplete: func(p Params, _ string) string { return "marked complete by " + p.By },
	ReasonMarkedFailed:   func(p Params, _ string) string { return "marked failed by " + p.By },
	ReasonDoneBefore: func(p Params, _ string) string {
		return fmt.Sprintf("an earlier attempt completed the item on %s, which reported only now", p.Host)
	},
	ReasonHostLocked:  func(p Params, _ string) string { return "the host was locked by " + p.By },
	ReasonSentAway:    func(p Params, _ string) string { return "sent away at its item's end by " + p.By },
	ReasonRetired:     func(p Params, _ string) string { return "retired at its item's end by " + p.By },
	ReasonNoItemsLeft: func(Params, string) string { return "no item is left for the instance" },
	ReasonWidthLowered: func(p Params, _ string) string {
		return fmt.Sprintf("job %d may run %d wide now", p.Job,
			p.Limit)
	},
	ReasonPrimaryWaits: func(p Params, _ string) string {
		return fmt.Sprintf("gives way to a primary of job %d",
			p.Job)
	},
	ReasonBetterPriority: func(p Params, _ string) string {
		return fmt.Sprintf("gives way to job %d of better priority",
			p.Job)
	},
	ReasonSurplusShared: surplusSentence,
	ReasonKeptForResumed: func(p Params, _ string) string {
		return fmt.Sprintf("an item that was resumed on host %s needs the slots to continue", p.Host)
	},
	ReasonRestored: func(Params, string) string {
		return "the database was restored, and the host does not know the attempt"
	},
	ReasonExit: func(p Params, detail string) string {
		return cmp.Or(detail,
			fmt.Sprintf("exit status %d", p.ExitCode))
	},
	ReasonSignal:    func(p Params, detail string) string { return cmp.Or(detail, fmt.Sprintf("signal %d", p.Signal)) },
	ReasonTimeLimit: timeLimitSentence,
	ReasonMemoryLimit: func(p Params, _ string) string {
		return "memory: the item reached its limit of " + units.Size(p.Limit) + largestSentence(p)
	},
	ReasonOutOfMemory:       func(p Params, detail string) string { return "memory: " + detail + largestSentence(p) },
	ReasonMemoryUnavailable: func(_ Params, detail string) string { return "memory: " + detail },
	ReasonNoLicence: func(p Params, detail string) string {
		return "no licence: " + p.Resource + "; " + detail
	},
	ReasonFolderMissing: folderSentence,
	ReasonFolderDenied:  folderSentence,
	ReasonEnvironment:   environmentSentence,
	ReasonUnknownOutcome: func(p Params, detail string) string {
		text := "unknown outcome " + strconv.Quote(p.Outcome)
		if detail != "" {
			text += " (" + detail + ")"
		}
		return text + "; the worker may be newer than the supervisor"
	},
	ReasonHostSilent: func(p Params, _ string) string {
		return fmt.Sprintf("host %s was not heard within its execution lease", p.Host)
	},
	ReasonHostDeaf: func(p Params, _ string) string {
		return fmt.Sprintf("host %s took no answer within its execution lease", p.Host)
	},
	ReasonHostRestarted: func(p Params, _ string) string { return fmt.Sprintf("host %s was restarted", p.Host) },
	ReasonConfirmedDead: func(p Params, _ string) string {
		return fmt.Sprintf("%s confirmed that nothing runs on %s", p.By, p.Host)
	},
	ReasonItemsFailed:     failedSentence,
	ReasonDependencyEnded: func(p Params, _ string) string { return fmt.Sprintf("job %d is %s", p.Job, p.State) },
	ReasonItemsEnded: func(p Params, _ string) string {
		return fmt.Sprintf("the items of job %d that the job waited for have ended", p.Job)
	},
	ReasonLabelAppeared: func(p Params, _ string) string {
		return fmt.Sprintf("job %d has the label %s", p.Job,
			p.Label)
	},
	ReasonPrimariesMissing: func(Params, string) string { return "the job has fewer primaries than its cpus" },
	ReasonCPUsLowered:      func(Params, string) string { return "cpus was lowered" },
	ReasonSlotNotNeeded:    func(Params, string) string { return "the instance's slot is not needed any more" },
	ReasonUsersItemsFail: func(p Params, _ string) string {
		return fmt.Sprintf("%d items of %s failed on the host that other hosts complete, and no other user's; the host gets no more items of this user for %d minutes", p.Failed, p.User, p.Limit/60)
	},
	ReasonItemsFail: func(p Params, _ string) string {
		return fmt.Sprintf("%d items of %d users in a row failed here, of jobs that other hosts complete meanwhile", p.Failed,
			p.Users)
	},
	ReasonRetryDelay: retrySentence,
	ReasonStaysOpen: func(Params, string) string {
		return "all items have ended, and with the flag disable_auto_complete the job stays open; complete or kill it to end it"
	},
	ReasonStartsLater: func(p Params, _ string) string {
		return fmt.Sprintf("starts at %s, in %s", p.Until, startsIn(p.Seconds))
	},
	ReasonFailedThere: func(p Params, _ string) string {
		return fmt.Sprintf("%s failed on %s one after the other; the job avoids the host for %.0f minutes, as long as another host serves it", Several(p.Failed, "attempt"), p.Host, float64(p.Limit)/60)
	},
	ReasonInstanceTimeout: func(p Params, _ string) string {
		return fmt.Sprintf("the instance runs for %.0f s, its timeout is %d s", p.Seconds, p.Limit)
	},
	ReasonItemTimeout: func(p Params, _ string) string {
		return fmt.Sprintf("the item runs for %.0f s, its agenda_timeout is %d s", p.Seconds, p.Limit)
	},
	ReasonTooManyLocked: func(p Params, _ string) string {
		return fmt.Sprintf("%d items failed on the host that other hosts complete; the host is not locked, as the farm has locked other hosts already", p.Failed)
	},
	ReasonHostsHeard: func(Params, string) string { return "the hosts are heard again, or are lost" },
	ReasonNotYetKnown: func(Params, string) string {
		return "the job was submitted or changed a moment ago, and why it waits is not known yet"
	},
}

// Restored is why an attempt stops that the rows call running, when they were put back and its host does not know it.
func Restored() Why { return Because(ReasonRestored, Params{}, "") }
