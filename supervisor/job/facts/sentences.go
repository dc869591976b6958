package facts

import (
	"fmt"
	"strings"

	"qb/internal/units"
)

func surplusSentence(p Params, _ string) string {
	text := "surplus slots are shared equally"
	switch p.Share {
	case ShareByUser:
		text = "surplus slots are shared by user, then by job"
	case ShareByFairshare:
		text = "surplus slots are shared by the owners' fairshare factors"
	}
	switch {
	case p.Job == 0:
		return text
	case p.Share == ShareEqually:
		return fmt.Sprintf("%s: job %d had fewer", text, p.Job)
	}
	return fmt.Sprintf("%s: more is due to job %d of %s", text, p.Job, p.User)
}

// How surplus slots are shared, as Params.Share.
const (
	ShareEqually     = "equally"
	ShareByUser      = "by_user"
	ShareByFairshare = "by_fairshare"
)

// timeLimitSentence says which limit ended an item. Of an instance's the worker knows only how much was left to the
// item, which is less than what was asked for where the instance had run others before.
func timeLimitSentence(p Params, detail string) string {
	switch {
	case p.Option == "": // changed in the meantime
		return detail
	case p.Earlier:
		return fmt.Sprintf("the item ran for %.1f s, then its instance, which had run other items before, reached its timelimit of %d s", p.Seconds, p.Limit)
	}
	return fmt.Sprintf("the item ran for %.1f s, its %s is %d s", p.Seconds, p.Option, p.Limit)
}

// folderSentence names the host, or if the folder is wanting wherever it was tried, how many hosts.
func folderSentence(p Params, detail string) string {
	lack, where := "is missing", fmt.Sprintf("on host %s", p.Host)
	if p.User != "" {
		lack = "is closed to " + p.User
	}
	if p.Hosts > 0 {
		where = fmt.Sprintf("on %s tried", Several(p.Hosts, "host"))
	}
	text := fmt.Sprintf("working folder %s %s %s", p.Folder, lack, where)
	if detail = strings.TrimPrefix(detail, "chdir "+p.Folder+": "); detail != "" {
		text += " (" + detail + ")"
	}
	return text
}

func environmentSentence(p Params, detail string) string {
	where := fmt.Sprintf("on host %s", p.Host)
	if p.Hosts > 0 {
		where = fmt.Sprintf("on %s tried", Several(p.Hosts, "host"))
	}
	text := fmt.Sprintf("an environment of job %d cannot be entered %s", p.Job, where)
	if detail != "" {
		text += ": " + detail
	}
	return text
}

// failedSo is how all items that failed did so.
var failedSo = map[Reason]string{
	ReasonMemoryLimit:     ", out of memory",
	ReasonOutOfMemory:     ", out of memory",
	ReasonTimeLimit:       ", time limit reached",
	ReasonPreflight:       ", a preflight check failed",
	ReasonAgendaPreflight: ", a preflight check failed",
	ReasonPostflight:      ", a postflight check failed",
	ReasonLogError:        ", a line of the output matches regex_errors",
	ReasonEnvironment:     ", an environment of the job could not be entered on the hosts tried",
	ReasonNoReport:        ", the program ended without a report of its item",
	ReasonOutputMissing:   ", an output file is missing, too small or too old",
	ReasonLaunchFailed:    ", the command could not be started",
}

func failedSentence(p Params, _ string) string {
	text := fmt.Sprintf("%d of %s failed", p.Failed, Several(p.Items, "item"))
	switch p.End {
	case ReasonExit:
		return fmt.Sprintf("%s, exit %d; see qberr %d", text, p.ExitCode, p.Job)
	case ReasonSignal:
		return fmt.Sprintf("%s, signal %d; see qberr %d", text, p.Signal, p.Job)
	case ReasonFolderMissing:
		text += fmt.Sprintf(", working folder %s is missing on the hosts tried", p.Folder)
	case ReasonFolderDenied:
		text += fmt.Sprintf(", working folder %s is closed to the owner on the hosts tried", p.Folder)
	default:
		text += failedSo[p.End]
	}
	return fmt.Sprintf("%s; see qbitems %d", text, p.Job)
}

func largestSentence(p Params) string {
	if p.Largest == 0 {
		return ""
	}
	return fmt.Sprintf("; the largest host that serves the job has %s and can offer %s", units.Size(p.Largest),
		units.Size(p.Offer))
}

func suspendedBy(p Params, _ string) string {
	if p.By == "" {
		return "suspended"
	}
	return "suspended by " + p.By
}

func resumingSentence(p Params, _ string) string {
	return fmt.Sprintf("resumed, and waits on host %s for %s to go on", p.Host, Several(int(p.Limit), "slot"))
}

func retrySentence(p Params, detail string) string {
	given, failed := fmt.Sprintf("retrywork_delay %d s", p.Limit), " failed and"
	if p.Limit == 0 {
		given, failed = "attempts end again and again", ""
	}
	wait := "wait"
	if p.Items == 1 {
		wait = "waits"
	}
	if detail != "" {
		return fmt.Sprintf("%s; tried again at %s (%s)", detail, p.Until, given)
	}
	return fmt.Sprintf("%s%s %s to be tried again, the first until %s (%s)", Several(p.Items, "item"), failed, wait,
		p.Until, given)
}
