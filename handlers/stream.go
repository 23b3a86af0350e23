package handlers

import (
	"bufio"
	"context"
	"io"
	"time"

	"github.com/gofiber/fiber/v2"
)

const (
	// streamBeat is how often a quiet stream sends a comment: proxies cut connections that are silent for half a minute or more, and
	// only a failed write tells that a browser has gone.
	streamBeat = 20 * time.Second

	// streamPatience is how long one write may take before the connection is cut: a phone that has stopped reading holds a goroutine.
	// It must be longer than streamBeat, or a quiet stream would be cut too.
	streamPatience = 45 * time.Second

	// streamLife ends a stream that has run for an hour; the browser connects again by itself. So rights are looked at again, and
	// nothing stays for ever behind a proxy that never closes.
	streamLife = time.Hour
)

// stream answers with events of one topic: hello at once, changed at each signal, closed when ended says that nothing will change any
// more. They carry no data: the page looks again. Whoever streams must have been let in before; ended runs after the handler, with a
// context of its own, so it must not use the request. A nil ended never ends.
func (a *App) stream(c *fiber.Ctx, topic string, ended func(ctx context.Context) (bool, error)) error {
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.Set(fiber.HeaderCacheControl, noCache)
	c.Set("X-Accel-Buffering", "no")
	c.Context().SetConnectionClose()
	if c.Method() == fiber.MethodHead {
		return nil
	}
	conn := c.Context().Conn()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		watchdog := time.AfterFunc(streamPatience, func() { _ = conn.Close() })
		defer watchdog.Stop()
		a.metrics.streams.Inc()
		defer a.metrics.streams.Dec()
		a.writeEvents(w, topic, ended, func() { watchdog.Reset(streamPatience) })
	})
	return nil
}

// writeEvents subscribes first and says hello after, so nothing is missed: whatever happened before is fetched because of hello. The
// subscription begins and ends here; there is none when this never runs. alive is told of each write that went through.
func (a *App) writeEvents(w *bufio.Writer, topic string, ended func(ctx context.Context) (bool, error), alive func()) {
	changes, cancel := a.deps.Hub.Subscribe(topic)
	defer cancel()
	say := func(text string) bool {
		if _, err := io.WriteString(w, text); err != nil || w.Flush() != nil {
			return false
		}
		alive()
		return true
	}
	if !say("retry: 2000\nevent: hello\ndata: \n\n") {
		return
	}
	if a.hasEnded(topic, ended) {
		say("event: closed\ndata: \n\n")
		return
	}
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	life := time.NewTimer(streamLife)
	defer life.Stop()
	for {
		select {
		case <-a.closing:
			return
		case <-life.C:
			return
		case _, open := <-changes:
			if !open || !say("event: changed\ndata: \n\n") {
				return
			}
			if a.hasEnded(topic, ended) {
				say("event: closed\ndata: \n\n")
				return
			}
		case <-beat.C:
			if !say(": \n\n") {
				return
			}
		}
	}
}

// hasEnded asks whether the stream has nothing more to tell. Not knowing is no reason to end it.
func (a *App) hasEnded(topic string, ended func(ctx context.Context) (bool, error)) bool {
	if ended == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	over, err := ended(ctx)
	if err != nil {
		a.log.WarnContext(ctx, "stream: cannot tell whether it is over", "topic", topic, "error", err)
		return false
	}
	return over
}
