package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"tiffin/models"
)

// staffLogin is the demo shop's owner. It is written and read here alone, as a file beside the database: the database keeps only
// the password's hash, and the password is to be shown at each start.
type staffLogin struct {
	Login    string `json:"login"`
	Password string `json:"password"`
}

// ensureStaff gives a login that works. It is made once, kept in file, and made again, as it stands there, in a database that does
// not have it. Without the file a new one is made, under another name if the old one's is taken.
func ensureStaff(ctx context.Context, store *models.Store, file string) (staffLogin, error) {
	kept, err := readStaff(file)
	if err != nil {
		return staffLogin{}, err
	}
	if kept != (staffLogin{}) {
		_, err := createOwner(ctx, store, kept)
		return kept, err
	}
	for _, login := range []string{"owner", "owner-" + strings.ToLower(rand.Text()[:6])} {
		fresh := staffLogin{Login: login, Password: newPassword()}
		made, err := createOwner(ctx, store, fresh)
		if err != nil {
			return staffLogin{}, err
		}
		if made {
			return fresh, writeStaff(file, fresh)
		}
	}
	return staffLogin{}, errors.New("the names for an owner are all taken")
}

// createOwner makes the owner; made is false when there is somebody of that login already.
func createOwner(ctx context.Context, store *models.Store, l staffLogin) (made bool, err error) {
	_, err = store.CreateStaff(ctx, models.Staff{Login: l.Login, Name: "Demo owner", Role: "owner", Active: true}, l.Password)
	if errors.Is(err, models.ErrBadInput) { // of all it stands for only "taken" can be meant
		return false, nil
	}
	return err == nil, err
}

func readStaff(file string) (l staffLogin, err error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return staffLogin{}, nil
	}
	if err != nil {
		return staffLogin{}, err
	}
	if err := json.Unmarshal(b, &l); err != nil || l.Login == "" || l.Password == "" {
		return staffLogin{}, fmt.Errorf("%s cannot be read: remove it, and a new staff login is made", file)
	}
	return l, nil
}

func writeStaff(file string, l staffLogin) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o600)
}

// newPassword is 80 bits in four groups, easy to type from another screen.
func newPassword() string {
	s := strings.ToLower(rand.Text())
	return s[0:4] + "-" + s[4:8] + "-" + s[8:12] + "-" + s[12:16]
}
