package models

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// Staff is a person who works at an outlet, or, with OutletID nil, at all of them.
type Staff struct {
	ID           int64
	OutletID     *int64
	Login        string
	Name         string
	Role         string // owner, manager, kitchen
	PasswordHash string
	Active       bool
}

// MayRefund reports whether this person may give money back: owners and managers.
func (s Staff) MayRefund() bool { return s.Role == "owner" || s.Role == "manager" }

const staffColumns = `id, outlet_id, login, name, role, password_hash, active`

// staffOfOutlet is true in SQL when the staff member (first ?) is active and has a say at the outlet (second ?).
const staffOfOutlet = `EXISTS (SELECT 1 FROM staff s WHERE s.id = ? AND s.active AND (s.outlet_id IS NULL OR s.outlet_id = ?))`

const (
	minPassword = 10  // characters: with five tries a quarter of an hour nobody guesses ten
	maxPassword = 200 // bytes: beyond this only a machine types, and hashing is work

	// How hard a password is to guess from a stolen hash: 19 MiB and two passes, the least that OWASP's password storage cheat sheet
	// names for argon2id. It is some 30 ms of one core; more would let a few logins at once starve orders on a small server.
	argonMemoryKiB = 19 * 1024
	argonPasses    = 2
	argonThreads   = 1
	argonSaltBytes = 16
	argonKeyBytes  = 32

	// Of one login five tries and of one address twenty, in a quarter of an hour: a person who mistypes gets by, a list of passwords
	// does not. The address has more, since a shop's tablets share one.
	triesPerLogin   = 5
	triesPerAddress = 20
	triesMinutes    = 15
)

// hashing bounds how many passwords are hashed at once, so that a burst of logins takes at most this often 19 MiB and leaves a core.
var hashing = make(chan struct{}, 2)

// hashPassword makes the PHC string that is stored: it carries its own parameters, so they can be raised later.
func hashPassword(ctx context.Context, password string) (string, error) {
	salt := make([]byte, argonSaltBytes)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("salt: %w", err)
	}
	p := argonHash{memoryKiB: argonMemoryKiB, passes: argonPasses, threads: argonThreads, salt: salt}
	key, err := p.derive(ctx, password, argonKeyBytes)
	if err != nil {
		return "", err
	}
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memoryKiB, p.passes, p.threads, encode(salt), encode(key)), nil
}

// argonHash is a stored hash taken apart.
type argonHash struct {
	memoryKiB, passes uint32
	threads           uint8
	salt, key         []byte
}

func parseHash(phc string) (h argonHash, err error) {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return h, errors.New("models: a stored password is not an argon2id hash")
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memoryKiB, &h.passes, &h.threads); err != nil || n != 3 || h.passes < 1 || h.threads < 1 {
		return h, errors.New("models: a stored password's parameters cannot be read")
	}
	if h.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err == nil {
		h.key, err = base64.RawStdEncoding.DecodeString(parts[5])
	}
	if err != nil || len(h.key) == 0 {
		return h, errors.New("models: a stored password's hash cannot be read")
	}
	return h, nil
}

func (h argonHash) derive(ctx context.Context, password string, size int) ([]byte, error) {
	select {
	case hashing <- struct{}{}:
		defer func() { <-hashing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return argon2.IDKey([]byte(password), h.salt, h.passes, h.memoryKiB, h.threads, uint32(size)), nil
}

// matches compares in constant time.
func (h argonHash) matches(ctx context.Context, password string) (bool, error) {
	key, err := h.derive(ctx, password, len(h.key))
	return err == nil && subtle.ConstantTimeCompare(key, h.key) == 1, err
}

// nobody is compared with when there is no such login, so that an answer takes as long as for one there is.
var nobody = sync.OnceValues(func() (argonHash, error) {
	phc, err := hashPassword(context.Background(), newToken())
	if err != nil {
		return argonHash{}, err
	}
	return parseHash(phc)
})

// CreateStaff adds a staff member who can sign in with this password. The login is stored in lower case. Not safe to repeat.
// Errors: ErrBadInput for a password shorter than 10 characters, a login that is taken, and a login, name or role the table refuses.
func (s *Store) CreateStaff(ctx context.Context, staff Staff, password string) (Staff, error) {
	staff.Login = strings.ToLower(strings.TrimSpace(staff.Login))
	login, name := utf8.RuneCountInString(staff.Login), utf8.RuneCountInString(staff.Name)
	switch {
	case !isText(staff.Login) || login < 3 || login > 254:
		return Staff{}, fmt.Errorf("%w: a login has 3 to 254 characters", ErrBadInput)
	case !isText(staff.Name) || name < 1 || name > 80:
		return Staff{}, fmt.Errorf("%w: a name has 1 to 80 characters", ErrBadInput)
	case staff.Role != "owner" && staff.Role != "manager" && staff.Role != "kitchen":
		return Staff{}, fmt.Errorf("%w: role %q", ErrBadInput, staff.Role)
	case utf8.RuneCountInString(password) < minPassword || len(password) > maxPassword:
		return Staff{}, fmt.Errorf("%w: a password has %d to %d characters", ErrBadInput, minPassword, maxPassword)
	}
	hash, err := hashPassword(ctx, password)
	if err != nil {
		return Staff{}, err
	}
	err = s.one(ctx, &staff, `INSERT INTO staff (outlet_id, login, name, role, password_hash) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT ON CONSTRAINT staff_login_key DO NOTHING RETURNING `+staffColumns, staff.OutletID, staff.Login, staff.Name, staff.Role, hash)
	if errors.Is(err, ErrNotFound) {
		return Staff{}, fmt.Errorf("%w: login %s is taken", ErrBadInput, staff.Login)
	}
	if err != nil {
		return Staff{}, fmt.Errorf("new staff member: %w", err)
	}
	return staff, nil
}

// FindStaff reads a staff member, active or not. Errors: ErrNotFound.
func (s *Store) FindStaff(ctx context.Context, id int64) (staff Staff, err error) {
	if err = s.one(ctx, &staff, `SELECT `+staffColumns+` FROM staff WHERE id = ?`, id); err != nil {
		return Staff{}, fmt.Errorf("staff member %d: %w", id, err)
	}
	return staff, nil
}

// SignInStaff opens a staff session of 12 hours under a fresh token; whatever session the browser had before stays as it was. Tries are
// counted in the database, by all processes together, before the password is looked at: of one login 5, of one address 20 in 15 minutes,
// a right password wiping its login's count. A login that does not exist costs the same time as a wrong password.
//
// Errors: ErrWrongLogin, without saying which half was wrong; ErrTooManyTries, without looking at the password.
func (s *Store) SignInStaff(ctx context.Context, login, password, address string) (token string, staff Staff, err error) {
	login = strings.ToLower(strings.TrimSpace(login))
	ofLogin, ofAddress := subject("login", login), subject("ip", address)
	tries, err := s.countTry(ctx, ofLogin, ofAddress)
	if err != nil {
		return "", Staff{}, err
	}
	hash, err := nobody()
	if err != nil {
		return "", Staff{}, err
	}
	if isText(login) {
		err = s.one(ctx, &staff, `SELECT `+staffColumns+` FROM staff WHERE login = ?`, login)
		if err == nil {
			hash, err = parseHash(staff.PasswordHash)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return "", Staff{}, fmt.Errorf("sign in: %w", err)
		}
	}
	right, err := hash.matches(ctx, password)
	if err != nil {
		return "", Staff{}, fmt.Errorf("sign in: %w", err)
	}
	if !right || staff.ID == 0 {
		return "", Staff{}, ErrWrongLogin
	}
	token = newToken()
	err = s.InTx(ctx, func(tx *Store) error {
		opened := tx.exec(ctx, `INSERT INTO sessions (token_hash, staff_id, expires_at) SELECT ?, id, shop_now() + ?::int * interval '1 hour'
			FROM staff WHERE id = ? AND active AND password_hash = ?`, hashToken(token), staffSessionHours, staff.ID, staff.PasswordHash)
		if opened.Error != nil {
			return fmt.Errorf("sign in: %w", opened.Error)
		}
		if opened.RowsAffected == 0 {
			return ErrWrongLogin // not active, or given another password while this one was being checked
		}
		if err := tx.exec(ctx, `DELETE FROM login_attempts WHERE subject = ? OR id = ANY (?::bigint[])`, ofLogin, tries).Error; err != nil {
			return fmt.Errorf("sign in: %w", err)
		}
		return tx.Audit(ctx, StaffActor(staff.ID), "sign_in", nil, "")
	})
	if err != nil {
		return "", Staff{}, err
	}
	return token, staff, nil
}

// subject names what tries are counted for without storing it.
func subject(kind, value string) string {
	sum := sha256.Sum256([]byte(value))
	return kind + ":" + hex.EncodeToString(sum[:])
}

// window is how many tries are let through in so many minutes, and what the next one is told.
type window struct {
	most, minutes int
	refusal       error
}

// limit is what is counted for one subject.
type limit struct {
	subject string
	windows []window
}

// countTry writes a try to sign in at the board down before it is made, unless there were too many. It returns the rows, which a right
// password takes back.
func (s *Store) countTry(ctx context.Context, ofLogin, ofAddress string) (tries IDList, err error) {
	return s.countTries(ctx, limit{ofAddress, []window{{triesPerAddress, triesMinutes, ErrTooManyTries}}}, limit{ofLogin, []window{{triesPerLogin, triesMinutes, ErrTooManyTries}}})
}

// countTries writes a try down for each subject, or, where one has had its many, for none. Tries of one subject take turns at an advisory
// lock, so that a hundred at once are still only five. Network addresses come first in limits, always: no two wait for each other.
// It returns the rows. Errors: the refusal of the first window that is full.
func (s *Store) countTries(ctx context.Context, limits ...limit) (tries IDList, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		tries = nil
		for _, l := range limits {
			if err := tx.exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(?, 0))`, l.subject).Error; err != nil {
				return fmt.Errorf("count tries: %w", err)
			}
			for _, w := range l.windows {
				var full bool
				if err := tx.one(ctx, &full, `SELECT count(*) >= ? FROM login_attempts WHERE subject = ? AND at > shop_now() - ?::int * interval '1 minute'`, w.most, l.subject, w.minutes); err != nil {
					return fmt.Errorf("count tries: %w", err)
				}
				if full {
					return w.refusal
				}
			}
			var id int64
			if err := tx.one(ctx, &id, `INSERT INTO login_attempts (subject) VALUES (?) RETURNING id`, l.subject); err != nil {
				return fmt.Errorf("count tries: %w", err)
			}
			tries = append(tries, id)
		}
		return nil
	})
	return tries, err
}

// PurgeLoginAttempts forgets tries that count no more, and says how many. Letters to an address count for a day, all else for a quarter of
// an hour. Safe to repeat.
func (s *Store) PurgeLoginAttempts(ctx context.Context) (int64, error) {
	r := s.exec(ctx, `DELETE FROM login_attempts WHERE at <= shop_now() - ?::int * interval '1 minute' AND (subject NOT LIKE 'code-mail:%' OR at <= shop_now() - interval '1 day')`, triesMinutes)
	return r.RowsAffected, r.Error
}

// recordDeed writes down what a staff member did at an outlet and tells its board. Inside InTx only.
func (s *Store) recordDeed(ctx context.Context, staffID int64, deed, detail string, outletID int64) error {
	if err := s.Audit(ctx, StaffActor(staffID), deed, nil, detail); err != nil {
		return err
	}
	return s.Notify(ctx, BoardTopic(outletID))
}
