package worker

import (
	"syscall"

	"qb/worker/picture"
	"qb/worker/shim"
)

func (a *agent) newPictures() *picture.Maker {
	if !a.config.Pictures {
		return nil
	}
	// also where the owner may not enter its folder, and after an upgrade
	program := append([]string{"/proc/self/exe"}, a.shim[1:]...)
	return picture.NewMaker(program, a.config.PictureCommand, roomForPicture(int64(a.config.MemoryReserve)),
		a.farm.appendPicture)
}

// roomForPicture reports whether a picture leaves free the memory that is reserved for people and items. Reserve is the
// value at the worker's start, because only the agent may read its configuration later.
func roomForPicture(reserve int64) func() bool {
	return func() bool {
		memory, err := hostMemory()
		return err == nil && memory.Available >= reserve+picture.Room
	}
}

// pictureOf is the picture to make when an attempt is done, of one of the files that are checked after it; nil: none.
func (a *agent) pictureOf(order shim.RunCommand) *picture.Request {
	if a.pictures == nil {
		return nil
	}
	p := &picture.Request{Attempt: order.Attempt, Dir: order.Dir, Env: shim.Environment()}
	for _, stage := range order.After {
		if stage.Code == codeOutput {
			p.Files = append(p.Files, stage.Argv[stage.Files:]...)
		}
	}
	p.Files = p.Files[:min(len(p.Files), picture.MostFiles)]
	if len(p.Files) == 0 {
		return nil
	}
	if l := order.Login; l != nil {
		p.Owner = &syscall.Credential{Uid: l.UID, Gid: l.GID, Groups: l.Groups}
	}
	return p
}
