package statedir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// openFlags are none: a named pipe of Windows is a server's, and its open does not wait.
const openFlags = 0

// awaitData has nothing to wait for: see openFlags.
func awaitData(*os.File, time.Duration) error { return nil }

// writeInto refuses what is no file.
func writeInto(name string, _ []byte, _ time.Duration) error {
	return fmt.Errorf("%s is a pipe or a device; name a file", name)
}

// SyncFolder does nothing: Windows keeps the names in a folder by the journal of its file system, and has no call for
// it.
func SyncFolder(string) error { return nil }

// renameWithin is for how long a rename waits for a program that has the file open, such as a scanner for viruses.
const renameWithin = time.Second

// rename puts a file in the place of another one. Windows refuses that while a program has the other one open.
func rename(from, to string) error {
	for until := time.Now().Add(renameWithin); ; time.Sleep(20 * time.Millisecond) {
		err := os.Rename(from, to)
		shared := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !shared || time.Now().After(until) {
			return err
		}
	}
}

// createTemp makes a file of its own name. What a mode leaves out others from is closed to all but the user, the system
// and administrators from the start; a mode alone changes nothing on Windows but the read-only attribute.
func createTemp(dir, prefix string, mode fs.FileMode) (*os.File, error) {
	if mode.Perm()&0o077 != 0 {
		return os.CreateTemp(dir, prefix+"*")
	}
	own, err := ownSID()
	if err != nil {
		return nil, err
	}
	sd, err := windows.SecurityDescriptorFromString("D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;" + own.String() + ")")
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, prefix+rand.Text())
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	attributes := &windows.SecurityAttributes{SecurityDescriptor: sd}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	handle, err := windows.CreateFile(path, windows.GENERIC_READ|windows.GENERIC_WRITE,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, attributes, windows.CREATE_NEW, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	return os.NewFile(uintptr(handle), name), nil
}

// Mine says whether an open file or folder belongs to this process's user.
func Mine(f *os.File) (bool, error) {
	own, err := ownSID()
	if err != nil {
		return false, err
	}
	sd, err := securityOf(f)
	if err != nil {
		return false, err
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return false, err
	}
	// What an administrator makes belongs to the group of administrators.
	return owner.Equals(own) || owner.IsWellKnown(windows.WinBuiltinAdministratorsSid), nil
}

// writeRights are the rights by which somebody can change a file, or what is in a folder.
const writeRights = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | windows.DELETE | windows.WRITE_DAC |
	windows.WRITE_OWNER | windows.GENERIC_WRITE | windows.GENERIC_ALL

// Exposed says why others than this process's user, the system and administrators may have written an open file or
// folder, "" if they cannot.
func Exposed(f *os.File) (why string, err error) {
	own, err := ownSID()
	if err != nil {
		return "", err
	}
	sd, err := securityOf(f)
	if err != nil {
		return "", err
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return "", err
	}
	if !trustedSID(owner, own) {
		return "belongs to another user", nil
	}
	dacl, _, err := sd.DACL()
	if errors.Is(err, windows.ERROR_OBJECT_NOT_FOUND) || err == nil && dacl == nil {
		return "can be written by everybody (it has no access list)", nil
	}
	if err != nil {
		return "", err
	}
	for n := range uint32(dacl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(dacl, n, &ace); err != nil {
			return "", err
		}
		who := (*windows.SID)(unsafe.Pointer(&ace.SidStart))
		if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE || ace.Header.AceFlags&windows.INHERIT_ONLY_ACE != 0 ||
			ace.Mask&writeRights == 0 || trustedSID(who, own) {
			continue
		}
		name := who.String()
		if account, domain, _, err := who.LookupAccount(""); err == nil {
			name = domain + `\` + account
		}
		return "can be written by " + name, nil
	}
	return "", nil
}

func trustedSID(who, own *windows.SID) bool {
	return who.Equals(own) || who.IsWellKnown(windows.WinLocalSystemSid) ||
		who.IsWellKnown(windows.WinBuiltinAdministratorsSid) || who.IsWellKnown(windows.WinCreatorOwnerSid) ||
		who.String() == trustedInstaller
}

// trustedInstaller is the service that installs Windows and its updates, the owner of the system's own folders.
const trustedInstaller = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"

func ownSID() (*windows.SID, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, err
	}
	return user.User.Sid, nil
}

func securityOf(f *os.File) (*windows.SECURITY_DESCRIPTOR, error) {
	return windows.GetSecurityInfo(windows.Handle(f.Fd()), windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
}
