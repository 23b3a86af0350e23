package devdb

import (
	"fmt"
	"os"
	"syscall"
)

// endWithParent asks the kernel to signal the child as soon as the thread that started it is gone.
func endWithParent(attr *syscall.SysProcAttr, last syscall.Signal) { attr.Pdeathsig = last }

// watch has nothing to do where endWithParent works.
func watch(int, syscall.Signal) error { return nil }

// mapAccount makes the child root for the files outside and uid for itself.
func mapAccount(attr *syscall.SysProcAttr, uid, gid uint32) bool {
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(uid), HostID: 0, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(gid), HostID: 0, Size: 1}}
	return true
}

// servesIn says whether pid is a server working in data. A server stands in its data folder; a corpse, or a stranger that got
// the number since, does not.
func servesIn(pid int, data string) bool {
	here, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false
	}
	there, err := os.Stat(data)
	return err == nil && os.SameFile(here, there)
}
