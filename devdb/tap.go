package devdb

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Tap stands between a program and its database, and writes down each statement that is sent. The program notices nothing, so what it
// costs in round trips is counted as it ships. Its methods may be called from several goroutines.
type Tap struct {
	mu   sync.Mutex
	sent []string
}

// Tapped opens a tap on the database that address names, and returns the address to use instead. It is gone when the test ends.
func Tapped(t testing.TB, address string) (tapped string, tap *Tap) {
	t.Helper()
	behind, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	network, server := pgconn.NetworkAddress(behind.Host, behind.Port)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tap = &Tap{}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			open.Go(func() { tap.join(client, network, server) })
		}
	})
	t.Cleanup(func() { // the program's pool was closed before, and with it the connections
		listener.Close()
		open.Wait()
	})
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(behind.User, behind.Password), Path: "/" + behind.Database,
		RawQuery: url.Values{"host": {host}, "port": {port}, "sslmode": {"disable"}}.Encode()}
	return u.String(), tap
}

// Take returns what was sent since the last Take, in order: one statement, one round trip. Preparing a statement, which happens once a
// connection, does not count.
func (tap *Tap) Take() []string {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	sent := tap.sent
	tap.sent = nil
	return sent
}

// join connects the two sides until either hangs up, and reads along.
func (tap *Tap) join(client net.Conn, network, address string) {
	defer client.Close()
	server, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(client, server)
		client.Close()
	}()
	reader := pgproto3.NewBackend(client, nil)
	var message pgproto3.FrontendMessage
	if message, err = reader.ReceiveStartupMessage(); err != nil {
		return
	}
	prepared, bound := map[string]string{}, ""
	for ; err == nil; message, err = reader.Receive() {
		switch m := message.(type) {
		case *pgproto3.Parse:
			prepared[m.Name] = m.Query
		case *pgproto3.Bind:
			bound = prepared[m.PreparedStatement]
		case *pgproto3.Execute:
			tap.note(bound)
		case *pgproto3.Query:
			tap.note(m.String)
		}
		// Written down first: once the answer is there, so is the note.
		sent, err := message.Encode(nil)
		if err != nil {
			return
		}
		if _, err := server.Write(sent); err != nil {
			return
		}
	}
}

func (tap *Tap) note(statement string) {
	if statement == "-- ping" { // the driver asks whether the connection is still there
		return
	}
	if title, rest, found := strings.Cut(statement, "\n"); found && strings.HasPrefix(title, "--") {
		statement = rest
	}
	statement = strings.Join(strings.Fields(statement), " ")
	tap.mu.Lock()
	defer tap.mu.Unlock()
	tap.sent = append(tap.sent, statement)
}
