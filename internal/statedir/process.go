package statedir

import (
	"os"
	"os/user"
	"strconv"
)

// OwnName is the OS user who runs this process; the number of one who has no name.
func OwnName() string {
	u, err := user.Current()
	if err != nil {
		return strconv.Itoa(os.Geteuid())
	}
	return u.Username
}
