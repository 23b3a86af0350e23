package devdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Child is a program that ends with this one, however this one ends, and that no Ctrl-C reaches on its own: who starts several
// decides in which order they stop.
type Child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// StartChild starts cmd, which is sent last should this process be gone first.
func StartChild(cmd *exec.Cmd, last syscall.Signal) (*Child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	endWithParent(cmd.SysProcAttr, last)
	c := &Child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer close(c.done)
		runtime.LockOSThread() // what the kernel calls the parent is the thread, so it has to live as long as the child
		err := cmd.Start()
		if err == nil {
			err = watch(cmd.Process.Pid, last)
		}
		started <- err
		if cmd.Process != nil {
			c.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("devdb: start %s: %w", filepath.Base(cmd.Path), err)
	}
	return c, nil
}

// Done is closed when the child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err is how the child ended, nil for status 0. Only after Done.
func (c *Child) Err() error { return c.err }

// Stop sends the signals one after another, each as soon as the one before was given patience, then SIGKILL, and returns how the
// child ended. Safe to repeat.
func (c *Child) Stop(patience time.Duration, signals ...syscall.Signal) error {
	for _, sig := range signals {
		if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		select {
		case <-c.done:
			return c.err
		case <-time.After(patience):
		}
	}
	return c.Kill()
}

// Kill ends the child as a crash would, and returns when it is gone.
func (c *Child) Kill() error {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-c.done
	return nil
}
