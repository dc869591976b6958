package worker

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"qb/worker/shim"
)

// folderID is where a folder was made. A copy of it, on a cloned disk or beside it, has another one.
type folderID struct {
	Machine string `json:"machine"`
	Inode   uint64 `json:"inode"`
}

// adoptFolder makes a copied folder a new one: what its instances, records and output speak of runs, if at all, under
// the folder of which it is a copy.
func (s *stateFolder) adoptFolder(machine string) error {
	var stat unix.Stat_t
	if err := unix.Stat(s.root, &stat); err != nil {
		return fmt.Errorf("looking at the worker's state folder %s: %w", s.root, err)
	}
	path, here := filepath.Join(s.root, "place"), folderID{machine, stat.Ino}
	var was folderID
	err := shim.ReadSealed(path, &was)
	if err == nil && was == here {
		return nil
	}
	if err == nil {
		for _, name := range []string{"i", "spool", "log", "id", "key", "token"} {
			if err := os.RemoveAll(filepath.Join(s.root, name)); err != nil {
				return fmt.Errorf("making the copied state folder %s a new one: %w", s.root, err)
			}
		}
		if err := makeFolders(s.root); err != nil {
			return err
		}
		s.copied = true
	}
	if err := shim.ReplaceSealed(path, here, true); err != nil {
		return fmt.Errorf("writing the place of the worker's state folder: %w", err)
	}
	return nil
}

func makeFolders(root string) error {
	for _, dir := range []string{root, filepath.Join(root, "i"), filepath.Join(root, "spool"),
		filepath.Join(root, "log")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making the worker's state folder %s: %w", dir, err)
		}
	}
	return nil
}
