package pgcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// accessFile is the whole of pg_hba.conf: by the socket alone, and the kernel says who calls.
const accessFile = `# qb writes this file at each start of the private Postgres; changes are lost.
local all ` + superuser + ` peer map=` + superuser + `
`

// writeAccess lets in only the user of this process and the server's own account, as the superuser.
func (l *layout) writeAccess() error {
	ids := []string{strconv.Itoa(os.Geteuid())}
	if l.user != nil {
		ids = append(ids, strconv.Itoa(int(l.user.uid)))
	}
	var idents strings.Builder
	idents.WriteString("# qb writes this file at each start of the private Postgres; changes are lost.\n")
	for _, id := range ids {
		u, err := user.LookupId(id)
		if err != nil {
			return fmt.Errorf(
				"finding the name of user id %s, as which the private Postgres knows its users: %w; give that user a name", id, err)
		}
		fmt.Fprintf(&idents, "%s %q %s\n", superuser, u.Username, superuser)
	}
	root, err := os.OpenRoot(l.data)
	if err != nil {
		return fmt.Errorf("opening the database folder: %w", err)
	}
	defer root.Close()
	for name, text := range map[string]string{"pg_hba.conf": accessFile, "pg_ident.conf": idents.String()} {
		if err := l.replace(root, name, text); err != nil {
			return fmt.Errorf("writing %s of the private Postgres: %w", name, err)
		}
	}
	return nil
}

// replace writes a file of the server again, completely or not at all, and never through a link.
func (l *layout) replace(root *os.Root, name, text string) error {
	fresh := name + ".qb"
	if err := root.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil && l.user != nil {
		err = f.Chown(int(l.user.uid), int(l.user.gid))
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(fresh, name)
	}
	return err
}
