package worker

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"qb/api"
)

const lowUsersMost = 64 << 10 // bytes of the file

// unnamed says whether a uid is one of those that stand for users without a number here: those of the kernel for ids that
// it cannot map or store in 16 bits (nobody), and -1 and -2.
func unnamed(uid uint32) bool {
	return uid == 65534 || uid == 65535 || uid >= 1<<32-2
}

// mayBeLow says whether an account of the system is listed in the host's own file.
func mayBeLow(path, name string) error {
	if path == "" {
		return fmt.Errorf("worker_low_users_file names no file of exceptions")
	}
	names, err := lowNames(path)
	if err == nil && !slices.Contains(names, name) {
		return fmt.Errorf("%s does not list it", path)
	}
	return err
}

// lowNames are the accounts of the system in the host's own file, one name a line. Only root's word counts there: a file
// that others may change lists nobody.
func lowNames(path string) ([]string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s, which would list exceptions, cannot be read: %w", path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != 0 || st.Mode&0o022 != 0 {
		return nil, fmt.Errorf("%s is not a file that root alone may change", path)
	}
	var names []string
	lines := bufio.NewScanner(io.LimitReader(file, lowUsersMost))
	for lines.Scan() {
		if line, _, _ := strings.Cut(lines.Text(), "#"); strings.TrimSpace(line) != "" {
			names = append(names, strings.TrimSpace(line))
		}
	}
	return names, lines.Err()
}

// mostLowNames is how many of them the supervisor is told.
const mostLowNames = 1000

// owners is what the supervisor is told of whom this worker serves.
func (c Config) owners() *api.SyncOwners {
	if c.RunAs != RunAsOwner {
		return nil
	}
	o := &api.SyncOwners{AllowRoot: c.AllowRoot, LowestUID: c.LowestUID}
	if names, err := lowNames(c.LowUsersFile); err == nil { // without it nobody is listed
		o.LowUsers = names[:min(len(names), mostLowNames)]
	}
	return o
}
