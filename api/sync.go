package api

import (
	"encoding/json"
	"fmt"
	"time"
)

// Agents one release older and newer than the supervisor work with it, so what they say to each other is
// open: a member that the other side does not know is passed over, and a word that it does not know is
// for the nearest that it knows. The blank member of each type below says so in the document.

// AttemptID names one try at one item.
type AttemptID struct {
	_ struct{} `additionalProperties:"true"`

	Job    int64 `json:"job"`
	Item   int   `json:"item"`
	Number int   `json:"number" doc:"From 1."`
}

// Sync is a worker's report: what it is and all that runs on it, as a list or as differences from an earlier one. While
// its answer is held the worker may send the next one, with results, on another connection: the supervisor answers that
// one as the response to the first, and holds the second in its turn. So a worker with results sends one request for
// each, and one is always held.
type Sync struct {
	_ struct{} `additionalProperties:"true"`

	Host        string `json:"host"`
	MachineID   string `json:"machine_id" doc:"Agents with equal machine ids share one machine's memory."`
	BootID      string `json:"boot_id" doc:"Changes at each boot; nothing of another boot still runs."`
	StateID     string `json:"state_id" doc:"Made with the agent's state folder; absence is proof only under the same one."`
	Incarnation string `json:"incarnation" doc:"Changes at each start of the agent."`
	Sequence    uint64 `json:"sequence" doc:"Rises by one with each sync of an incarnation, from 1."`
	Heard       uint64 `json:"heard,omitempty" doc:"Number of the last answer that this incarnation has taken; only instances listed in that answer may still start."`
	Epoch       int64  `json:"epoch" doc:"Epoch of the last acknowledged answer; 0 before the first. In another term the sync is a registration: it is answered at once, and nothing is concluded from what it omits."`
	Version     string `json:"version,omitempty" doc:"Of the worker's program, for people."`
	Protocol    int    `json:"protocol,omitempty" doc:"Number of the worker's protocol; a worker that names none is refused. A supervisor takes its own number, the one before and the one after, and refuses others with the code worker-too-old or worker-too-new."`

	Held *AcceptedTerm `json:"held,omitempty" doc:"What the worker knows of terms; none before the first signed one."`

	Slots  int        `json:"slots"`
	Cores  int        `json:"cores,omitempty" doc:"Cores of the machine. The CPU time of an end is accepted up to wall time × cores."`
	Memory SyncMemory `json:"memory"`
	Swap   SyncSwap   `json:"swap,omitzero"`

	ForeignSlots int    `json:"foreign_slots,omitempty" doc:"Slots that are not offered: processes outside the farm take them (worker_foreign_cpu), or people do (kept_for). The host gets so many fewer items."`
	KeptFor      string `json:"kept_for,omitempty" doc:"Why foreign_slots are not offered: calendar (worker_calendar) or people (worker_nimby). Empty, or any other word: for processes outside the farm."`

	Cluster    string            `json:"cluster,omitempty"`
	Groups     []string          `json:"groups,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
	Resources  map[string]int    `json:"resources,omitempty"`
	Spec       float64           `json:"spec,omitempty" doc:"Speed of the host for charges; 1 and 0 are the reference."`
	RunAs      string            `json:"run_as,omitempty" doc:"agent or owner."`
	AgentUser  string            `json:"agent_user,omitempty" doc:"The only owner served when run_as is agent and the site does not share."`
	Owners     *SyncOwners       `json:"owners,omitempty" doc:"With run_as owner: as whom the worker runs items."`
	Refusing   string            `json:"refusing,omitempty" doc:"Why the worker takes no new items now, such as a full disk; empty: it does."`

	Jobs      []JobVersion   `json:"jobs,omitempty" doc:"Job specifications the agent holds."`
	Instances []SyncInstance `json:"instances,omitempty" doc:"All instances: what is not listed does not run. With since only those that have changed."`
	Finished  []Finished     `json:"finished,omitempty" doc:"Ends not yet acknowledged."`

	Since       uint64      `json:"since,omitempty" doc:"Sequence of an earlier sync, whose answer had differences: instances and gone are what has changed since then, also what has changed back. 0: instances is the complete list. A supervisor whose list is older than that sync, or has another digest with the differences, refuses this sync, and the worker sends the complete list."`
	Gone        []AttemptID `json:"gone,omitempty" doc:"With since: attempts that are in the list no longer."`
	Digest      string      `json:"digest,omitempty" doc:"With since: digest of the complete list, differences applied: the sum modulo 2^128 of the first 16 bytes (big-endian) of the SHA-256 of each instance's line JOB.INSTANCE ITEM NUMBER STATE SUSPENSION_ID, in 32 hexadecimal digits. Nothing is concluded from what a list omits unless its digest is this."`
	Differences bool        `json:"differences,omitempty" doc:"Answers may have since: this worker can apply differences."`

	Usage *Usage `json:"usage,omitempty" doc:"What worker_resource_command said last. It is taken in from hosts of supervisor_resource_hosts only."`

	Central      string    `json:"central,omitempty" doc:"Version of the supervisor's settings that the worker has taken; empty: none."`
	CentralError string    `json:"central_error,omitempty" doc:"Why it could not take that version, and goes by what it had before."`
	RestartOrder string    `json:"restart_order,omitempty" doc:"The last restart of an answer that this worker could not carry out."`
	RestartError string    `json:"restart_error,omitempty" doc:"Why."`
	OwnGroups    []string  `json:"own_groups,omitempty" doc:"Groups by the worker's own configuration."`
	Settings     []Setting `json:"settings,omitempty" maxItems:"100" doc:"Those that the supervisor may set; origin is own, built in or central."`

	HoldSeconds float64 `json:"hold_seconds,omitempty" doc:"Time for which the answer may be held until something changes."`
}

// Usage is the use of resources outside of the farm, as a command on the host said.
type Usage struct {
	_ struct{} `additionalProperties:"true"`

	Number    int64         `json:"number" doc:"Rises with each run of the command, from 1 at each start of the agent."`
	Resources []ResourceUse `json:"resources" maxItems:"256"`
}

// ResourceUse is the use of one resource.
type ResourceUse struct {
	_ struct{} `additionalProperties:"true"`

	Name    string `json:"name"`
	Total   int64  `json:"total"`
	Outside int64  `json:"used_outside"`
}

// MaxHostSlots is how many slots a host may have.
const MaxHostSlots = 4096

// JobVersion names a specification the agent holds.
type JobVersion struct {
	_ struct{} `additionalProperties:"true"`

	Job     int64 `json:"job"`
	Version int64 `json:"version"`
}

// SyncOwners tells as whom a worker of root runs items.
type SyncOwners struct {
	_ struct{} `additionalProperties:"true"`

	AllowRoot bool     `json:"allow_root,omitempty" doc:"As root too."`
	LowestUID int      `json:"lowest_uid,omitempty" doc:"Users with a lower uid run no items, except those of low_users."`
	LowUsers  []string `json:"low_users,omitempty" maxItems:"1000" doc:"Users with a lower uid who may run items, as the host's own file had them at the worker's start."`
}

// SyncMemory is in bytes. Total and Available are the machine's, whatever part of it the agent offers.
type SyncMemory struct {
	_ struct{} `additionalProperties:"true"`

	Total     int64 `json:"total"`
	Available int64 `json:"available" doc:"Memory available without swapping."`
	Foreign   int64 `json:"foreign,omitempty" doc:"Memory used by others than items of any agent."`
	Cap       int64 `json:"cap,omitempty" doc:"Maximum that this agent offers; 0: all."`
	Reserve   int64 `json:"reserve,omitempty" doc:"Reserved for others than the farm."`
}

// SyncSwap is in bytes, of the machine.
type SyncSwap struct {
	_ struct{} `additionalProperties:"true"`

	Total int64 `json:"total"`
	Used  int64 `json:"used"`
	Rate  int64 `json:"rate" doc:"Bytes swapped in and out per second, since the worker's last look."`
}

// SyncInstance is one instance on the host.
type SyncInstance struct {
	_ struct{} `additionalProperties:"true"`

	Job      int64     `json:"job"`
	Instance int       `json:"instance"`
	Attempt  AttemptID `json:"attempt" doc:"The attempt that runs, or the last one that ended."`
	State    string    `json:"state" doc:"starting, running, frozen, suspended, stopping, unkillable, idle, unloading (its item has ended, and its program ends) or unknown; any other word counts as running."`
	Memory   int64     `json:"memory,omitempty" doc:"Resident bytes of the tree; listed again when they have changed by a sixteenth, or 256 MiB."`
	Progress int       `json:"progress,omitempty" doc:"Of the item in per cent, by the job's regex_progress; 0: not known."`

	SuspensionID int64 `json:"suspension_id,omitempty" doc:"Number of the suspension under which its whole tree stands still; 0: something of it may run."`
}

// Finished is the end of one attempt. It is kept on the worker's disk until an answer of a current
// term no longer lists the attempt.
type Finished struct {
	_ struct{} `additionalProperties:"true"`

	Attempt    AttemptID `json:"attempt"`
	Instance   int       `json:"instance"`
	Outcome    string    `json:"outcome" doc:"exit: ended with exit_code; signal: died of a signal not ours; memory: killed for want of memory, by the worker or the kernel; full: not started, as its memory is no longer there; timeout: ended at its time limit; launch: could not start, see reason; refused: this host cannot run for this owner, another may; stopped: ended by our order or the worker's shutdown; lost: gone without a record; log: its log could not be kept. Any other word counts as lost: no retry is charged, and the third such end of an item holds it."`
	ExitCode   *int      `json:"exit_code,omitempty"`
	Signal     *int      `json:"signal,omitempty"`
	Code       string    `json:"code,omitempty" doc:"Of outcome exit or signal: no_licence, if a pattern of no_licence in Desired was found. Of outcome exit: environment_failed, if the program of a load-once job could not make what all its items need. Of outcome stopped: worker_stopped, host_memory_low, host_swapping, host_in_use or not_wanted. None, or one that the supervisor does not know, stands for worker_stopped. Of outcome refused: folder_missing or folder_denied, if the job's working folder is missing on the host or closed to the job's owner there; another item of the owner may run. Also uid_differs: the owner's name is another user's there."`
	Reason     string    `json:"reason,omitempty" doc:"For people; programs must not depend on it."`
	Resource   string    `json:"resource,omitempty" doc:"Of code no_licence: the resource."`
	Limit      bool      `json:"limit,omitempty" doc:"With the outcome memory: it reached its own limit."`
	Wall       float64   `json:"wall" doc:"Seconds, without those for which it was suspended."`
	CPU        float64   `json:"cpu" doc:"Seconds, whole tree."`
	PeakMemory int64     `json:"peak_memory" doc:"Bytes, whole tree."`
	Suspended  float64   `json:"suspended,omitempty" doc:"Seconds for which it was suspended."`
	Loaded     bool      `json:"loaded,omitempty" doc:"Of a job with load_once: its program is still there and takes another item."`
	InLease    bool      `json:"in_lease,omitempty" doc:"Its whole tree had ended before its lease did, by the host's clock since boot: so an exit code of 0 that is reported after the attempt was given up counts for its item, if the item's next attempt has not ended."`

	Highlights  []string `json:"highlights,omitempty" doc:"Up to 20 lines of its output that match regex_highlights, of up to 400 bytes. Ends whose highlights and output paths take more than 4 MiB in one sync wait for the next."`
	OutputPaths []string `json:"outputpaths,omitempty" doc:"Up to 50 paths that regex_outputpaths found in its output, of up to 1024 bytes, and those that a program that stays loaded named."`

	Result      json.RawMessage `json:"result,omitempty" doc:"Of an item of a program that stays loaded: what the program reported, of up to 4096 bytes."`
	PeakSampled bool            `json:"peak_sampled,omitempty" doc:"Of such an item: the kernel did not let the worker measure peak_memory for this item alone, and it is the most that was seen at looks, twice a second."`
}

// SyncReply is what should run: the complete list, or its differences from that of an earlier answer. An answer with a
// lower epoch than one heard before is ignored.
type SyncReply struct {
	_ struct{} `additionalProperties:"true"`

	Epoch        int64        `json:"epoch"`
	Term         *Term        `json:"term,omitempty" doc:"The same epoch, signed. A worker that has seen a signed term ignores answers without one."`
	Sequence     uint64       `json:"sequence" doc:"Of the sync it answers. If that is a later one than the sync to which this is the response, the later one is now held, and another answer to it follows."`
	Answer       uint64       `json:"answer" doc:"Number of this answer. It rises with each answer to an incarnation, and the worker takes answers in rising order only."`
	LeaseSeconds float64      `json:"lease_seconds" doc:"Execution lease, counted from the send of that sync. 0 leaves the lease as it is: this worker has taken no answer for a while, and gets none before its next sync says in heard that it took this one."`
	Instances    []Desired    `json:"instances" doc:"All that should run; with since only those that have changed."`
	Jobs         []JobSpec    `json:"jobs,omitempty" doc:"Specifications of desired jobs that the sync did not list."`
	GraceSeconds float64      `json:"grace_seconds" doc:"Between TERM and KILL."`
	Now          time.Time    `json:"now,omitzero" doc:"The farm's time as this answer is written."`
	Central      *Central     `json:"central,omitempty" doc:"What the supervisor's file sets for this worker, if the sync had another version."`
	Restart      string       `json:"restart,omitempty" doc:"Id of an order to start again, as soon as the worker has seen that its configuration is valid; its items run on."`
	Since        uint64       `json:"since,omitempty" doc:"Number of the answer from which instances and gone differ: the last one that the worker has taken, by the sync. 0: instances is the complete list. A worker that has taken another one since, or gets another digest, does not take this answer; the next one is complete."`
	Gone         []InstanceID `json:"gone,omitempty" doc:"With since: instances that should run no longer."`
	Digest       string       `json:"digest,omitempty" doc:"With since: digest of the complete list, differences applied: as in a sync, with the version of the specification, and program behind it, in place of the state."`
	Differences  bool         `json:"differences,omitempty" doc:"The supervisor has the list of the sync that this answers: the next syncs may have since."`
	// PatienceSeconds is for workers of a supervisor that has more to read than it can.
	PatienceSeconds float64 `json:"patience_seconds,omitempty" doc:"A sync with results should be waited for this long before another one with newer results is sent: many syncs wait to be read."`
	AskEnds         string  `json:"ask_ends,omitempty" doc:"Id of an audit that requests this worker's end records, once."`
}

// InstanceID names an instance.
type InstanceID struct {
	_ struct{} `additionalProperties:"true"`

	Job      int64 `json:"job"`
	Instance int   `json:"instance"`
}

// Desired is an instance that should run this attempt.
type Desired struct {
	_ struct{} `additionalProperties:"true"`

	Instance int               `json:"instance"`
	Kind     string            `json:"kind" doc:"primary or secondary; any other word counts as primary."`
	Attempt  AttemptID         `json:"attempt"`
	Version  int64             `json:"version" doc:"Of the job's specification."`
	Slots    int               `json:"slots"`
	Name     string            `json:"name" doc:"The item's name."`
	Start    string            `json:"start,omitempty" doc:"First number or label of the item, padded."`
	End      string            `json:"end,omitempty"`
	Step     string            `json:"step,omitempty"`
	Env      map[string]string `json:"env,omitempty" doc:"Of this attempt alone, such as CUDA_VISIBLE_DEVICES."`

	Memory    int64       `json:"memory,omitempty" doc:"Bytes promised to it."`
	HardLimit bool        `json:"hard_limit,omitempty" doc:"memory is a limit: above it the item is killed."`
	TimeLimit float64     `json:"time_limit,omitempty" doc:"Time limit in seconds after its start; 0: none. Time for which it is suspended does not count."`
	NoLicence []NoLicence `json:"no_licence,omitempty" doc:"How the item says that it found no licence, for those that it holds."`
	Suspended bool        `json:"suspended,omitempty" doc:"Its processes are to stand still until an answer says otherwise."`

	SuspensionID int64  `json:"suspension_id,omitempty" doc:"Number of the suspension, which the worker reports back once its whole tree stands still."`
	Program      string `json:"program,omitempty" doc:"The attempt has ended, and its instance's program, of a job with load_once, is still there: it waits for an item (waiting, or blocked: by a person), or is to end (pending: its job goes on without it; complete: its job has no item left). Empty: the attempt is to run."`

	Next *NextItem `json:"next,omitempty" doc:"The item that the instance holds ahead: the worker begins it by itself when the attempt has ended with exit status 0, and in all else as that attempt."`
}

// NextItem is an item that an instance holds ahead.
type NextItem struct {
	_ struct{} `additionalProperties:"true"`

	Attempt AttemptID `json:"attempt"`
	Name    string    `json:"name"`
	Start   string    `json:"start,omitempty"`
	End     string    `json:"end,omitempty"`
	Step    string    `json:"step,omitempty"`
}

// NoLicence is how an item says that it found no licence. An attempt that fails and says so ends with the code
// no_licence.
type NoLicence struct {
	_ struct{} `additionalProperties:"true"`

	Resource string `json:"resource"`
	Pattern  string `json:"pattern,omitempty" doc:"A regular expression in RE2's syntax that a line of the output matches; empty: none."`
	Exits    []int  `json:"exits,omitempty" doc:"Exit codes that say so."`
}

// JobSpec is what an agent must know of a job to run its items.
type JobSpec struct {
	_ struct{} `additionalProperties:"true"`

	Job     int64             `json:"job"`
	Version int64             `json:"version"`
	Name    string            `json:"name"`
	User    string            `json:"user"`
	UID     *int64            `json:"uid,omitempty" doc:"Of the user on the supervisor's machine, if the kernel named it there at the submission. A worker on whose host the user has another one refuses the item with the code uid_differs."`
	Command []string          `json:"command"`
	Shell   bool              `json:"shell,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Umask   *int              `json:"umask,omitempty"`
	Padding int               `json:"padding,omitempty"`
	Agenda  bool              `json:"agenda"`
	PGrp    int64             `json:"pgrp"`

	Preflights        []string `json:"preflights,omitempty" doc:"Commands for /bin/sh before the first item of an instance. Each command runs for 10 minutes at most, as the user; one that fails ends the attempt with the outcome launch and the code preflight_failed."`
	Postflights       []string `json:"postflights,omitempty" doc:"The same after the command, if there is no agenda; code postflight_failed."`
	AgendaPreflights  []string `json:"agenda_preflights,omitempty" doc:"The same before each item; code agenda_preflight_failed."`
	AgendaPostflights []string `json:"agenda_postflights,omitempty" doc:"The same after each item; code postflight_failed."`
	Validate          []string `json:"validate,omitempty" doc:"Output files of each item, as PATH, PATH:SIZE, PATH:new or PATH:SIZE:new; code output_missing."`

	LoadOnce bool `json:"load_once,omitempty" doc:"The command is started once for each instance, and takes its items one after another over a socket."`

	RegexProgress string `json:"regex_progress,omitempty" doc:"Regular expressions for lines of output, one in each line."`
	RegexErrors   string `json:"regex_errors,omitempty" doc:"Likewise; a line that matches lets the item fail with the outcome launch and the code log_error."`

	RegexHighlights  string `json:"regex_highlights,omitempty" doc:"Likewise; lines that match are in the end's highlights."`
	RegexOutputPaths string `json:"regex_outputpaths,omitempty" doc:"Likewise; the first group, or the whole match, is one of the end's outputpaths."`

	ConvertPath bool     `json:"convert_path,omitempty" doc:"Paths in the command, its folder, files and variables are mapped by the worker's own worker_path_map."`
	PathMap     []string `json:"pathmap,omitempty" doc:"They are mapped by these entries FROM=TO, too, which outweigh those of worker_path_map."`
}

// Enrolment asks for a token that is bound to a worker's key.
type Enrolment struct {
	_ struct{} `additionalProperties:"true"`

	Host      string `json:"host"`
	MachineID string `json:"machine_id"`
	StateID   string `json:"state_id"`
	PublicKey []byte `json:"public_key" doc:"Ed25519, 32 bytes."`
	Time      int64  `json:"time" doc:"Seconds since 1970, by the worker's clock; at most an hour off."`
	Signature []byte `json:"signature" doc:"By the key, over the text qb enrol and the members above."`
	Version   string `json:"version,omitempty" doc:"As in a sync."`
	Protocol  int    `json:"protocol,omitempty" doc:"As in a sync."`
}

// Signed is the text that Signature covers.
func (e Enrolment) Signed() []byte {
	return fmt.Appendf(nil, "qb enrol\n%q\n%q\n%q\n%x\n%d", e.Host, e.MachineID, e.StateID, e.PublicKey, e.Time)
}

// EnrolReply is the only answer that holds the token.
type EnrolReply struct {
	_ struct{} `additionalProperties:"true"`

	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// LogChunk appends to a log at Offset. The supervisor answers with the size it now holds,
// so that a repeated or early chunk is harmless: only the missing part is taken.
type LogChunk struct {
	_ struct{} `additionalProperties:"true"`

	Attempt AttemptID `json:"attempt"`
	Session bool      `json:"session,omitempty" doc:"The log is not the attempt's. It is that of the instance's programs from this attempt on, which has what they write between two items."`
	Offset  int64     `json:"offset"`
	Data    []byte    `json:"data" doc:"Frames: one byte stream (1 stdout, 2 stderr), four bytes length, little-endian, then the bytes."`
	Final   bool      `json:"final,omitempty"`
}

// LogReply is the size now held.
type LogReply struct {
	_ struct{} `additionalProperties:"true"`

	Size int64 `json:"size"`
}
