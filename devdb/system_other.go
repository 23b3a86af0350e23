//go:build !linux

package devdb

import (
	"fmt"
	"os/exec"
	"syscall"
)

// endWithParent has no counterpart here; watch stands in for it.
func endWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// watch signals the child when we are gone: a shell waits for the end of a pipe whose other end only this process holds.
func watch(pid int, last syscall.Signal) error {
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf("cat >/dev/null; kill -%d %d", last, pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

func mapAccount(*syscall.SysProcAttr, uint32, uint32) bool { return false }

// servesIn can only tell whether pid lives; with the lock in hand that is nearly always a stranger's number.
func servesIn(pid int, _ string) bool { return syscall.Kill(pid, 0) == nil }
