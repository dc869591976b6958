//go:build unix

package statedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links a path may hold, as in the kernel.
const maxLinks = 40

// ErrForeign says that a folder or file is not this user's alone.
var ErrForeign = errors.New("the file or folder is not private")

// Make makes the folder with that mode, and those above it with 0711, unless they exist, and checks all of them. Owners
// are user ids beside root's and this process's that may own a folder above it.
func Make(path string, mode fs.FileMode, owners ...int) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("making the state folder: %w", err)
	}
	// What exists is checked before anything is made in it.
	above := path
	for {
		if _, err := os.Lstat(above); err == nil || above == "/" {
			break
		}
		above = filepath.Dir(above)
	}
	if above != path {
		if err := check(ofState, above, false, owners); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
			return fmt.Errorf("making the state folder: %w", err)
		}
		if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making the state folder: %w", err)
		}
	}
	return check(ofState, path, true, owners)
}

// Program refuses a program that others than root and this process's user can change, or put another one in the place
// of.
func Program(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("looking at the program: %w", err)
	}
	st := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return fmt.Errorf("the program %s is no file", path)
	case !trusted(st.Uid, nil):
		return fmt.Errorf("the program %s: %w: it belongs to %s%s", path, ErrForeign, userName(st.Uid),
			ofProgram.remedy("let root own it"))
	case openToOthers(mode, st):
		return fmt.Errorf("the program %s: %w: it can be written by other users (mode %04o)%s", path, ErrForeign, mode.Perm(),
			ofProgram.remedy("chmod go-w it"))
	}
	return check(ofProgram, filepath.Dir(path), false, nil)
}

// purpose is what a folder is checked for, as errors name it.
type purpose struct{ name, or string }

var (
	ofState   = purpose{"state folder", "or use another -state"}
	ofProgram = purpose{"folder of the program", "or start the program from another one"}
)

func (p purpose) remedy(first string) string { return "; " + first + ", " + p.or }

// check walks from the root to the folder, through links that root or this user made.
func check(p purpose, path string, own bool, owners []int) error {
	rest := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	at, links := "/", 0
	for {
		last := len(rest) == 0 || len(rest) == 1 && rest[0] == ""
		info, err := os.Lstat(at)
		if err != nil {
			return fmt.Errorf("looking at the %s: %w", p.name, err)
		}
		st := info.Sys().(*syscall.Stat_t)
		if info.Mode()&fs.ModeSymlink != 0 {
			if links++; links > maxLinks {
				return fmt.Errorf("%s %s: too many symbolic links", p.name, path)
			}
			if !trusted(st.Uid, owners) {
				return fmt.Errorf("%s %s: %w: the symbolic link %s belongs to %s%s", p.name, path, ErrForeign, at, userName(st.Uid),
					p.remedy("remove it"))
			}
			target, err := os.Readlink(at)
			if err != nil {
				return fmt.Errorf("looking at the %s: %w", p.name, err)
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(at), target)
			}
			rest = append(strings.Split(strings.Trim(filepath.Clean(target), "/"), "/"), rest...)
			at = "/"
			continue
		}
		if err := judge(p, path, at, info, st, own && last, owners); err != nil {
			return err
		}
		if last {
			return nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:]
	}
}

// judge refuses one folder of the path.
func judge(p purpose, path, at string, info fs.FileInfo, st *syscall.Stat_t, own bool, owners []int) error {
	refuse := func(why, remedy string) error {
		return fmt.Errorf("%s %s: %w: %s %s%s", p.name, path, ErrForeign, at, why, p.remedy(remedy))
	}
	mode := info.Mode()
	switch {
	case !mode.IsDir():
		return refuse("is no folder", "move it away")
	case own && int(st.Uid) != os.Geteuid():
		return refuse("belongs to "+userName(st.Uid)+", not to "+userName(uint32(os.Geteuid())), "run as that user")
	case !trusted(st.Uid, owners):
		return refuse("belongs to "+userName(st.Uid), "let root own it")
	case !own && mode&fs.ModeSticky != 0:
		return nil // no one can rename what is another's there
	case openToOthers(mode, st):
		return refuse(fmt.Sprintf("can be written by other users (mode %04o)", mode.Perm()), "chmod go-w it")
	}
	return nil
}

func openToOthers(mode fs.FileMode, st *syscall.Stat_t) bool {
	return mode.Perm()&0o002 != 0 || mode.Perm()&0o020 != 0 && !privateGroup(st)
}

func trusted(uid uint32, owners []int) bool {
	return uid == 0 || int(uid) == os.Geteuid() || slices.Contains(owners, int(uid))
}

// privateGroup reports a group that the folder's owner has for himself alone, by its name.
func privateGroup(st *syscall.Stat_t) bool {
	owner, err1 := user.LookupId(strconv.Itoa(int(st.Uid)))
	group, err2 := user.LookupGroupId(strconv.Itoa(int(st.Gid)))
	return err1 == nil && err2 == nil && owner.Gid == group.Gid && owner.Username == group.Name
}

func userName(uid uint32) string {
	id := strconv.Itoa(int(uid))
	if u, err := user.LookupId(id); err == nil {
		return "user " + u.Username
	}
	return "user id " + id
}

// OpenFile opens a regular file of this user's that has no second name. It follows no link, waits for no FIFO, and
// changes nothing in a file that it refuses; flag must not hold os.O_TRUNC.
func OpenFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, mode)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s: %w: it is a symbolic link; remove it", path, ErrForeign)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	st := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || int(st.Uid) != os.Geteuid() || st.Nlink != 1 {
		return nil, errors.Join(fmt.Errorf("%s: %w: it is not a regular file of %s with one name (owner %s, %d names); remove it",
			path, ErrForeign, userName(uint32(os.Geteuid())), userName(st.Uid), st.Nlink), f.Close())
	}
	return f, nil
}

// maxSecret bounds what is read of a secret.
const maxSecret = 4 << 10

// ReadSecret reads a file with a password or the like, without the white space around it; of no name it is empty. A
// file that others may read is refused.
func ReadSecret(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	f, err := OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s: its mode is %04o, so others may read it; chmod 600 it", name, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecret))
	text := strings.TrimSpace(string(data))
	if err == nil && text == "" {
		err = fmt.Errorf("%s is empty", name)
	}
	return text, err
}

// Room is what the folder's disk has free for this process, and in all, in bytes.
func Room(folder string) (free, total int64, err error) {
	var at syscall.Statfs_t
	if err := syscall.Statfs(folder, &at); err != nil {
		return 0, 0, fmt.Errorf("asking for the room under %s: %w", folder, err)
	}
	block := int64(at.Bsize) // of other types on other systems
	return int64(at.Bavail) * block, int64(at.Blocks) * block, nil
}
