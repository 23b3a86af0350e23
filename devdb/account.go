package devdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// account is who the server runs as: ourselves, or, since it refuses to run as root, somebody lesser.
type account struct {
	uid, gid uint32
	stepDown bool // we are root: the server runs as uid
	mapped   bool // the server is root outside and uid inside a user namespace, for folders that only root can enter
}

// serverAccount finds the account the server can run under.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}, nil
	}
	for _, n := range []string{"postgres", "_postgres", "nobody"} {
		u, err := user.Lookup(n)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return account{uid: uint32(uid), gid: uint32(gid), stepDown: true}, nil
		}
	}
	return account{}, errors.New("devdb: PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it")
}

// canServe says whether a server could run on data below dir, as the account itself or mapped to it.
func (a account) canServe(dir string) bool { return a.canReach(dir) || mappingWorks() }

// canReach says whether the account may enter dir: every folder on the way has to let it through.
func (a account) canReach(dir string) bool {
	if !a.stepDown {
		return true
	}
	for {
		fi, err := os.Stat(dir)
		if err != nil {
			return false
		}
		st, m := fi.Sys().(*syscall.Stat_t), fi.Mode().Perm()
		switch {
		case st.Uid == a.uid && m&0o100 != 0:
		case st.Uid != a.uid && st.Gid == a.gid && m&0o010 != 0:
		case st.Uid != a.uid && st.Gid != a.gid && m&0o001 != 0:
		default:
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// mappingWorks tries a user namespace once: containers often forbid them.
var mappingWorks = sync.OnceValue(func() bool {
	a, err := serverAccount()
	if err != nil || !a.stepDown {
		return false
	}
	a.mapped = true
	attr := a.attributes()
	if attr.Credential != nil { // this system knows no such thing
		return false
	}
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr, cmd.Dir = attr, "/"
	return cmd.Run() == nil
})

// attributes make a child process run as the account.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	switch {
	case a.mapped && mapAccount(attr, a.uid, a.gid):
	case a.stepDown:
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}

// own gives root and all below it to the account, as seen from outside its namespace.
func (a account) own(root string) error {
	uid, gid := a.uid, a.gid
	if a.mapped {
		uid, gid = 0, 0
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil || owner(fi) == uid {
			return err
		}
		if !a.stepDown {
			return fmt.Errorf("%s: %w", path, fs.ErrPermission)
		}
		return os.Lchown(path, int(uid), int(gid))
	})
}

func owner(fi fs.FileInfo) uint32 { return fi.Sys().(*syscall.Stat_t).Uid }
