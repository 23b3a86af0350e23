package mail

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	gomail "github.com/wneessen/go-mail"
)

// folder keeps letters as files that mail programs open. They hold names and codes, so nobody else may read them.
type folder string

func newFolder(dir string) (folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the folder for letters: %w", err)
	}
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return "", fmt.Errorf("the folder for letters: %w", err)
	}
	defer os.Remove(f.Name())
	return folder(dir), f.Close()
}

// send writes the file under its name only when it is whole; the same letter again replaces it.
func (dir folder) send(ctx context.Context, letter *gomail.Msg, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := letter.WriteTo(&b); err != nil {
		return err
	}
	f, err := os.CreateTemp(string(dir), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone under this name, unless something failed
	if _, err = f.Write(b.Bytes()); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(string(dir), fileName(id)))
}

// fileName is the message id as a file's name: a letter of the alphabet, a digit or one of ".-@" stays, anything else becomes
// "_" and its number, so that two ids never share a file.
func fileName(id string) string {
	var b bytes.Buffer
	for i, r := range id {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '@', r == '.' && i > 0:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "_%02x", r)
		}
	}
	return b.String() + ".eml"
}
