package worker

import (
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"qb/api"
	"qb/internal/pathmap"
	"qb/worker/core"
	"qb/worker/settings"
	"qb/worker/shim"
)

// mostSocket is the longest path of a socket, which programs name by it.
const mostSocket = 107

// tempOf is the folder for temporary files of the item, or of the instance whose program is kept; empty: it has none.
func (l *launcher) tempOf(item core.Item) string {
	switch {
	case l.temps == "":
		return ""
	case item.Spec.LoadOnce:
		return filepath.Join(l.temps, keyOf(item).String())
	}
	return filepath.Join(l.temps, shim.AttemptName(item.Desired.Attempt))
}

// seenTemp is the same folder as the item's processes see it.
func (l *launcher) seenTemp(item core.Item) string {
	if l.temps != "" && l.private.OwnTmp {
		return shim.TmpFolder
	}
	return l.tempOf(item)
}

func keyOf(item core.Item) core.Key {
	return core.Key{Job: item.Desired.Attempt.Job, Instance: item.Desired.Instance}
}

// workSocket is where the program of a load-once job asks for items: in its folder for temporary files or, on a worker
// that gives items none as they all are its own user's, in the folder of the instance.
func (l *launcher) workSocket(item core.Item, temp func(core.Item) string) string {
	if folder := temp(item); folder != "" {
		return filepath.Join(folder, "work")
	}
	return filepath.Join(l.instances, keyOf(item).String(), "work")
}

// session is what the shim needs to keep the item's program; nil: it does not.
func (l *launcher) session(item core.Item) (*shim.Session, error) {
	spec, d := item.Spec, item.Desired
	if !spec.LoadOnce {
		return nil, nil
	}
	for _, beside := range []struct {
		what     string
		commands []string
	}{
		{"agenda_preflights", spec.AgendaPreflights}, {"agenda_postflights", spec.AgendaPostflights},
		{"postflights", spec.Postflights}, {"validate", spec.Validate},
	} {
		if len(beside.commands) > 0 {
			return nil, fmt.Errorf("the program of a load-once job stays loaded, and no %s are run beside it; check in the program, and report the item as failed", beside.what)
		}
	}
	path := l.workSocket(item, l.tempOf)
	if len(path) > mostSocket {
		return nil, fmt.Errorf("the socket %s of a load-once job would have a path of %d bytes, and a socket's has at most %d; set a shorter worker_state on this host",
			path, len(path), mostSocket)
	}
	if l.temps == "" && l.runAs == settings.RunAsOwner {
		return nil, shim.Refused(fmt.Errorf("items have no folder of their own in %s, where the program of a load-once job would find its socket; see the worker's log", shim.TmpFolder))
	}
	return &shim.Session{Socket: path, Grace: item.Grace, Work: l.work(item), Job: api.ProgramJob{
		ID: spec.Job, Name: spec.Name, User: spec.User, Instance: d.Instance, PGrp: spec.PGrp, Command: spec.Command,
		Cwd: spec.Cwd, Env: ofJob(item),
	}}, nil
}

// work is an item as its program gets it, with the variables that differ from item to item.
func (l *launcher) work(item core.Item) api.ProgramItem {
	spec, d := item.Spec, item.Desired
	w := api.ProgramItem{
		Item: d.Attempt.Item, Attempt: d.Attempt.Number, Name: d.Name, Start: number(d.Start), End: number(d.End),
		Step: number(d.Step), Job: d.Attempt.Job, Instance: d.Instance, Slots: max(d.Slots, 1), Memory: d.Memory,
		Env: l.itemVariables(item),
	}
	maps.Copy(w.Env, d.Env)
	maps.Copy(w.Env, gpus(item))
	entries := pathmap.ForHost(false, spec.PathMap)
	if spec.ConvertPath {
		entries = pathmap.Over(entries, l.paths)
	}
	for _, entry := range entries {
		from, to, _ := strings.Cut(entry, "=")
		w.Paths = append(w.Paths, api.MappedPath{From: from, To: to})
	}
	return w
}

// number is that of a text; nil: it is a label.
func number(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}
