//go:build !linux

package devdb

import (
	"os/exec"
	"strconv"
	"syscall"
)

// endWithParent has no counterpart here; watch stands in for it.
func endWithParent(*syscall.SysProcAttr) {}

// watch ends the server when we are gone: a shell waits for the end of a pipe whose other end only this process holds.
func watch(pid int) error {
	cmd := exec.Command("/bin/sh", "-c", "cat >/dev/null; kill -INT "+strconv.Itoa(pid))
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
