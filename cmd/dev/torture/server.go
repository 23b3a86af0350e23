package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tiffin/devdb"
)

// How a server's life ended, where it was we who ended it. Those that begin with "killed" count as kills.
const (
	killedAtRandom   = "killed at a random moment"
	killedInACall    = "killed while the gateway holds its call"
	killedAtEnd      = "killed by the power cut"
	killedAtPoint    = "killed at " // and the fault point's name
	deployed         = "deployed in the middle"
	stopped          = "stopped" // at the end of a round; counts as nothing
	startLimit       = 40 * time.Second
	stopLimit        = 25 * time.Second // above what the shop waits for requests and jobs at work
	readyEvery       = 8 * time.Millisecond
	restartAfterFail = 40 * time.Millisecond
)

// server is one shop process that is started again whenever it ends, as an init system does, until it is retired.
type server struct {
	r     *round
	index int
	addr  string
	url   string
	log   string   // file of what it said, all lives in one
	lives []string // where each life ends by itself

	mu      sync.Mutex
	child   *devdb.Child
	process *os.Process
	why     string // how we are ending this life; "" while nobody does
	retired bool
	over    chan struct{} // closed when it will not be started any more
}

// open starts a server; its lives run in a goroutine of their own.
func (r *round) open(index int, lives []string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	s := &server{r: r, index: index, addr: addr, url: "http://" + addr, lives: lives, over: make(chan struct{}),
		log: filepath.Join(r.dir, fmt.Sprintf("server-%d.log", index))}
	go s.live()
	return s, nil
}

func (s *server) live() {
	defer close(s.over)
	for life := 0; ; {
		fault := ""
		if life < len(s.lives) {
			fault = s.lives[life]
		}
		trouble := s.r.place.trouble.Load() // a database that is away explains why a shop does not start
		child, err := s.start(fault)
		if err != nil {
			s.r.fail("server", nil, "server %d cannot be started: %v", s.index, err)
			return
		}
		if child == nil { // retired
			return
		}
		<-child.Done()
		s.mu.Lock()
		why, retired := s.why, s.retired
		s.child, s.process = nil, nil
		s.mu.Unlock()
		switch ended := s.endOf(child, why, fault); {
		case ended == "":
			if trouble == s.r.place.trouble.Load() && !s.r.place.down.Load() {
				s.r.fail("server", nil, "server %d ended by itself: %v\n%s", s.index, child.Err(), s.lastWords())
				return
			}
			time.Sleep(restartAfterFail)
		case ended == stopped: // when nothing troubles it any more
			if child.Err() != nil {
				s.r.fail("server", nil, "server %d did not stop in order: %v\n%s", s.index, child.Err(), s.lastWords())
			}
		default:
			s.r.tally.add(ended)
			if strings.HasPrefix(ended, killedAtPoint) || fault == "" {
				life++ // a point that was not come to is the next life's too
			}
		}
		if retired {
			return
		}
	}
}

// endOf names what ended a life; "" when it was neither us nor the planned fault point.
func (s *server) endOf(child *devdb.Child, why, fault string) string {
	if why != "" {
		return why
	}
	var exit *exec.ExitError
	if errors.As(child.Err(), &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL && fault != "" {
			point, _, _ := strings.Cut(fault, ":")
			return killedAtPoint + point
		}
	}
	return ""
}

func (s *server) start(fault string) (*devdb.Child, error) {
	out, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return nil, nil
	}
	cmd := exec.Command(s.r.place.binary)
	cmd.Env = append(s.r.environment(), "LISTEN_ADDR="+s.addr, "PUBLIC_URL="+s.r.publicURL, "TIFFIN_FAULTPOINT="+fault)
	cmd.Stdout, cmd.Stderr = out, out
	child, err := devdb.StartChild(cmd, syscall.SIGKILL)
	if err != nil {
		return nil, err
	}
	s.child, s.process, s.why = child, cmd.Process, ""
	return child, nil
}

// signal sends a signal to the life there is, and notes why first. Nothing happens to a server that is down.
func (s *server) signal(why string, signals ...syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	if s.why == "" || strings.HasPrefix(why, "killed") { // a kill ends also what was being stopped in order
		s.why = why
	}
	for _, sig := range signals {
		_ = s.process.Signal(sig) // it may just have ended by itself
	}
}

// kill ends a life as a power cut does.
func (s *server) kill(why string) { s.signal(why, syscall.SIGKILL) }

// deploy ends a life in order: the next one is a new version's.
func (s *server) deploy() { s.signal(deployed, syscall.SIGTERM) }

// retire ends the server for good, in order or not, and returns when it is gone.
func (s *server) retire(why string) {
	s.mu.Lock()
	s.retired = true
	s.mu.Unlock()
	if why == killedAtEnd {
		s.kill(why)
	} else {
		s.signal(why, syscall.SIGTERM)
	}
	select {
	case <-s.over:
	case <-time.After(stopLimit):
		s.r.fail("server", nil, "server %d does not stop\n%s", s.index, s.lastWords())
		s.signal(killedAtEnd, syscall.SIGKILL)
		<-s.over
	}
}

// awaitReady returns when the server answers that it is ready.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz", nil)
		if err != nil {
			return err
		}
		if answer, err := s.r.client.Do(request); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("server %d is not ready: %w\n%s", s.index, ctx.Err(), s.lastWords())
		case <-time.After(readyEvery):
		}
	}
}

func (s *server) lastWords() string {
	said, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(said[max(0, len(said)-3000):])
}

// linesWith are the lines a server said that hold one of the words.
func (s *server) linesWith(words ...string) (found []string) {
	said, err := os.ReadFile(s.log)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(said) {
		if slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(line, []byte(word)) }) {
			found = append(found, strings.TrimSpace(string(line)))
		}
	}
	return found
}
