package message

import (
	"slices"

	"qb/supervisor/job/facts"
)

// Cause is the reason of the end.
func (r ReportedEnd) Cause() facts.Reason {
	reasons := reportedAs[r.Outcome]
	switch {
	case slices.Contains(reasons, r.Code):
		return r.Code
	case len(reasons) > 0:
		return reasons[0]
	}
	return facts.ReasonUnknownOutcome
}

// Remark is what the worker says of an attempt that is done.
func (r ReportedEnd) Remark() facts.Why {
	switch {
	case r.Code == facts.ReasonProcessesLeft:
		return facts.Because(r.Code, facts.Params{}, r.Reason)
	case r.Reason != "":
		return facts.Because(facts.ReasonLogIncomplete, facts.Params{}, r.Reason)
	}
	return facts.Why{}
}

// reportedAs are the reasons that an outcome can have. The first is used if the agent gives no code.
var reportedAs = map[string][]facts.Reason{
	"exit":   {facts.ReasonExit, facts.ReasonNoLicence, facts.ReasonEnvironment},
	"signal": {facts.ReasonSignal, facts.ReasonNoLicence},
	"launch": {facts.ReasonLaunchFailed, facts.ReasonPreflight, facts.ReasonAgendaPreflight, facts.ReasonPostflight,
		facts.ReasonOutputMissing, facts.ReasonLogError, facts.ReasonNoReport, facts.ReasonNoLicence},
	"timeout": {facts.ReasonTimeLimit, facts.ReasonNoLicence},
	"memory":  {facts.ReasonOutOfMemory},
	"full":    {facts.ReasonMemoryUnavailable},
	"refused": {facts.ReasonHostRefused, facts.ReasonUIDDiffers, facts.ReasonFolderMissing, facts.ReasonFolderDenied},
	"log":     {facts.ReasonLogUnwritable},
	"stopped": {facts.ReasonWorkerStopped, facts.ReasonHostMemoryLow, facts.ReasonHostSwapping, facts.ReasonHostInUse,
		facts.ReasonNotWanted},
	"lost": {facts.ReasonNoRecord},
}
