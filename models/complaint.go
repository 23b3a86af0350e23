package models

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Kinds of complaints.
const (
	ComplaintMissing = "missing" // a dish did not come
	ComplaintWrong   = "wrong"   // another came
	ComplaintLate    = "late"    // cold, or late
	ComplaintQuality = "quality"
	ComplaintPayment = "payment" // charged and not ordered, charged twice, not refunded
	ComplaintOther   = "other"
)

// States of a complaint. Its clocks begin again when its customer writes after it was resolved.
const (
	ComplaintOpen         = "open"
	ComplaintAcknowledged = "acknowledged"
	ComplaintResolved     = "resolved"
)

// Outcomes of a complaint.
const (
	OutcomeRefunded  = "refunded"  // money went back: only while a refund of the order stands
	OutcomeMadeGood  = "made_good" // brought what was missing, cooked again
	OutcomeExplained = "explained" // a question answered
	OutcomeDeclined  = "declined"  // nothing is done, and why
)

// Outcomes are all of them, in the order they are offered.
var Outcomes = []string{OutcomeRefunded, OutcomeMadeGood, OutcomeExplained, OutcomeDeclined}

// Limits. A page says them where something is typed.
const (
	MaxComplaintText   = 2000 // characters of one message; the database checks it
	maxComplaints      = 12   // of one order, ever: two of each kind
	maxMessagesADay    = 20   // of a customer, about one complaint
	complaintNumberTry = 20   // numbers are drawn from nine million
)

var (
	// ErrEnough says that a complaint, or an order, has as many messages as are taken.
	ErrEnough = errors.New("no more messages are taken")
	// ErrNoRefund says that a complaint cannot end with money given back while none is.
	ErrNoRefund = errors.New("nothing of the order has been given back")
)

// Complaint is what a customer holds against an order, under a number that can be told on the telephone. Who has the order's link may read
// it and write to it; staff of the order's outlet answer.
type Complaint struct {
	ID             int64
	OrderID        int64
	OutletID       int64
	Number         string // seven digits
	Kind           string
	Status         string
	FormKey        string
	OpenedAt       time.Time
	BeganAt        time.Time // when the clocks began: opened, or opened again
	AcknowledgeBy  time.Time // 48 hours after that (E-Commerce Rules 2020)
	ResolveBy      time.Time // a month after that
	AcknowledgedAt *time.Time
	ResolvedAt     *time.Time
	Outcome        string     // of a resolved one
	DueAt          *time.Time // the clock that runs out next; nil: resolved

	Lines    []int              `gorm:"-"` // the order's lines it is about; none: the order
	Messages []ComplaintMessage `gorm:"-"` // oldest first; the first is the complaint itself
}

// ComplaintMessage is one thing said in a complaint. It never changes, but for being blanked.
type ComplaintMessage struct {
	ID          int64
	ComplaintID int64
	Author      string // customer, staff:<id>
	Body        string // empty: blanked
	FormKey     string
	Resolves    bool // said with the outcome
	WrittenAt   time.Time
	BlankedAt   *time.Time
}

// IsOpen reports whether somebody still has to do something about it.
func (c Complaint) IsOpen() bool { return c.Status != ComplaintResolved }

// SpokenNumber is the number as people read it out: 482-1937.
func (c Complaint) SpokenNumber() string {
	if len(c.Number) != 7 {
		return c.Number
	}
	return c.Number[:3] + "-" + c.Number[3:]
}

// LastID is the newest message's: what a person who looks at the complaint has seen.
func (c Complaint) LastID() int64 {
	if len(c.Messages) == 0 {
		return 0
	}
	return c.Messages[len(c.Messages)-1].ID
}

// ComplaintKindsOf lists what can be complained about: of an order that never came to the kitchen only its money, or something else.
func ComplaintKindsOf(hasTicket bool) []string {
	if !hasTicket {
		return []string{ComplaintPayment, ComplaintOther}
	}
	return []string{ComplaintMissing, ComplaintWrong, ComplaintLate, ComplaintQuality, ComplaintPayment, ComplaintOther}
}

// NewComplaint is what a customer's form says.
type NewComplaint struct {
	Kind    string
	Body    string
	Lines   []int  // of the order
	FormKey string // of the form, so that a second press finds the first
}

// NewFormKey makes the key of one form: whatever the form does is done once.
func NewFormKey() string { return newToken() }

// Said is a message as it is stored: without space around it, with plain line breaks.
func Said(body string) string {
	return strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body))
}

func checkMessage(body, formKey string) error {
	if body == "" || !utf8.ValidString(body) || utf8.RuneCountInString(body) > MaxComplaintText || len(formKey) < 16 || len(formKey) > 64 {
		return fmt.Errorf("%w: a message has 1 to %d characters, and its form a key", ErrBadInput, MaxComplaintText)
	}
	return nil
}

// OpenComplaint stores a complaint under a new number, puts it before staff and writes its letter, all in one transaction. An order has one
// open complaint of a kind: when there is one, or the same form has come before, that one is returned, nothing is written and fresh is false.
//
// Errors: ErrBadInput for what our page cannot send, ErrEnough.
func (s *Store) OpenComplaint(ctx context.Context, o Order, in NewComplaint) (c Complaint, fresh bool, err error) {
	in.Body = Said(in.Body)
	if err := checkMessage(in.Body, in.FormKey); err != nil {
		return c, false, err
	}
	err = s.InTx(ctx, func(tx *Store) error {
		fresh = false
		locked, err := tx.LockOrder(ctx, o.ID) // complaints of one order take turns
		if err != nil {
			return err
		}
		var has struct {
			Ticket, Money bool
			Complaints    int
		}
		if err := tx.one(ctx, &has, `SELECT EXISTS (SELECT 1 FROM fulfilments WHERE order_id = o.id) AS ticket, EXISTS (SELECT 1 FROM payments WHERE order_id = o.id AND disposition IS NOT NULL) AS money,
			(SELECT count(*) FROM complaints WHERE order_id = o.id) AS complaints FROM orders o WHERE id = ?`, o.ID); err != nil {
			return err
		}
		if !slices.Contains(ComplaintKindsOf(has.Ticket), in.Kind) {
			return fmt.Errorf("%w: kind of complaint", ErrBadInput)
		}
		for range complaintNumberTry {
			if c, err = tx.insertComplaint(ctx, locked, in, has.Complaints < maxComplaints); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			if fresh = err == nil; fresh {
				break
			}
			err := tx.one(ctx, &c, `SELECT * FROM complaints WHERE order_id = ? AND (form_key = ? OR (kind = ? AND status <> 'resolved')) ORDER BY form_key = ? DESC LIMIT 1`, o.ID, in.FormKey, in.Kind, in.FormKey)
			if err == nil {
				return tx.fillComplaint(ctx, &c)
			}
			if !errors.Is(err, ErrNotFound) {
				return err
			}
			if has.Complaints >= maxComplaints {
				return fmt.Errorf("complaints of order %d: %w", o.ID, ErrEnough)
			}
		}
		if !fresh {
			return fmt.Errorf("no free number for a complaint of order %d", o.ID)
		}
		for _, line := range in.Lines {
			if err := tx.exec(ctx, `INSERT INTO complaint_dishes (complaint_id, order_id, line) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, c.ID, o.ID, line).Error; err != nil {
				return err
			}
		}
		if err := tx.exec(ctx, `INSERT INTO complaint_messages (complaint_id, author, body, form_key) VALUES (?, 'customer', ?, ?)`, c.ID, in.Body, in.FormKey).Error; err != nil {
			return err
		}
		if err := tx.noteComplaint(ctx, c, ActorCustomer, "open_complaint", in.Kind); err != nil {
			return err
		}
		if !has.Ticket && !has.Money {
			locked.Email = "" // anybody can order in another's name and not pay: such an address gets no letters
		}
		if err := tx.EnsureLetter(ctx, LetterComplaintReceived, strconv.FormatInt(c.ID, 10), locked); err != nil {
			return err
		}
		return tx.fillComplaint(ctx, &c)
	})
	if isBadValue(err) {
		err = fmt.Errorf("%w: %s", ErrBadInput, err)
	}
	return c, fresh, err
}

// insertComplaint writes the row unless there is one of its kind, of its form or of its number, or there are enough: then it is ErrNotFound.
func (s *Store) insertComplaint(ctx context.Context, o Order, in NewComplaint, room bool) (c Complaint, err error) {
	draw, err := rand.Int(rand.Reader, big.NewInt(9_000_000))
	if err != nil {
		return c, fmt.Errorf("number of a complaint: %w", err)
	}
	err = s.one(ctx, &c, `INSERT INTO complaints (order_id, outlet_id, number, kind, form_key) SELECT ?, ?, ?, ?, ? WHERE ? ON CONFLICT DO NOTHING RETURNING *`,
		o.ID, o.OutletID, strconv.FormatInt(draw.Int64()+1_000_000, 10), in.Kind, in.FormKey, room)
	return c, err
}

// noteComplaint puts an open complaint before staff, takes a resolved one off their list, writes down who did what and tells the pages.
func (s *Store) noteComplaint(ctx context.Context, c Complaint, actor, deed, detail string) error {
	ref := strconv.FormatInt(c.ID, 10)
	if err := s.Audit(ctx, actor, deed, &c.OrderID, strings.TrimSpace(c.SpokenNumber()+" "+detail)); err != nil {
		return err
	}
	if c.IsOpen() {
		if err := s.OpenTask(ctx, TaskComplaint, ref, &c.OrderID, "Complaint "+c.SpokenNumber()); err != nil {
			return err
		}
	} else if err := s.EndTask(ctx, TaskComplaint, ref); err != nil {
		return err
	}
	if c.Status != ComplaintOpen {
		if err := s.endTasks(ctx, TaskComplaintLate, `ref = ? AND NOT EXISTS (SELECT 1 FROM complaints k WHERE k.id::text = t.ref AND k.due_at < shop_now())`, ref).Error; err != nil {
			return err
		}
	}
	if err := s.Notify(ctx, OrderTopic(c.OrderID)); err != nil {
		return err
	}
	return s.Notify(ctx, BoardTopic(c.OutletID))
}

// lockComplaint reads a complaint and makes everybody else who would write to it wait. Inside InTx only.
func (s *Store) lockComplaint(ctx context.Context, where string, args ...any) (c Complaint, err error) {
	err = s.one(ctx, &c, `SELECT * FROM complaints WHERE `+where+` FOR NO KEY UPDATE`, args...)
	return c, err
}

// said reports whether a form's message is there already.
func (s *Store) said(ctx context.Context, complaintID int64, formKey string) (is bool, err error) {
	err = s.one(ctx, &is, `SELECT EXISTS (SELECT 1 FROM complaint_messages WHERE complaint_id = ? AND form_key = ?)`, complaintID, formKey)
	return is, err
}

// WriteToComplaint adds a customer's message. A resolved complaint is open again by it, with both clocks anew. The same form twice is once.
//
// Errors: ErrNotFound, ErrBadInput, ErrEnough; ErrBadMove when it was resolved and another of its kind is open.
func (s *Store) WriteToComplaint(ctx context.Context, o Order, number, body, formKey string) (c Complaint, err error) {
	body = Said(body)
	if err := checkMessage(body, formKey); err != nil {
		return c, err
	}
	err = s.InTx(ctx, func(tx *Store) error {
		var err error
		if c, err = tx.lockComplaint(ctx, `order_id = ? AND number = ?`, o.ID, number); err != nil {
			return err
		}
		if repeated, err := tx.said(ctx, c.ID, formKey); err != nil || repeated {
			return errors.Join(err, tx.fillComplaint(ctx, &c))
		}
		r := tx.exec(ctx, `INSERT INTO complaint_messages (complaint_id, author, body, form_key) SELECT ?, 'customer', ?, ?
			WHERE (SELECT count(*) FROM complaint_messages WHERE complaint_id = ? AND author = 'customer' AND written_at > shop_now() - interval '1 day') < ?`, c.ID, body, formKey, c.ID, maxMessagesADay)
		if r.Error != nil {
			return r.Error
		}
		if r.RowsAffected == 0 {
			return fmt.Errorf("complaint %s: %w", c.Number, ErrEnough)
		}
		deed := "write_complaint"
		if !c.IsOpen() {
			deed = "reopen_complaint"
			if err := tx.one(ctx, &c, `UPDATE complaints SET status = 'open', began_at = shop_now(), acknowledged_at = NULL, resolved_at = NULL, outcome = '' WHERE id = ? AND status = 'resolved' RETURNING *`, c.ID); err != nil {
				return err
			}
		}
		if err := tx.noteComplaint(ctx, c, ActorCustomer, deed, ""); err != nil {
			return err
		}
		return tx.fillComplaint(ctx, &c)
	})
	if isConstraint(err, "complaints_open_key") {
		err = fmt.Errorf("complaint %s: another of its kind is open: %w", number, ErrBadMove)
	}
	return c, err
}

const complaintOfStaff = `id = ? AND (?::bigint IS NULL OR outlet_id = ?)`

// AcknowledgeComplaint says for staff that a complaint was read: the first clock stops. Safe to repeat. Errors: ErrNotFound; ErrBadMove when
// it is resolved.
func (s *Store) AcknowledgeComplaint(ctx context.Context, complaintID int64, by Staff) error {
	return s.InTx(ctx, func(tx *Store) error {
		c, err := tx.lockComplaint(ctx, complaintOfStaff, complaintID, by.OutletID, by.OutletID)
		if err != nil || c.Status == ComplaintAcknowledged {
			return err
		}
		return tx.acknowledge(ctx, &c, by, "acknowledge_complaint")
	})
}

// acknowledge stops the first clock of an open complaint and writes down why. Errors: ErrBadMove when it is resolved.
func (s *Store) acknowledge(ctx context.Context, c *Complaint, by Staff, deed string) error {
	err := s.one(ctx, c, `UPDATE complaints SET status = 'acknowledged', acknowledged_at = COALESCE(acknowledged_at, shop_now()) WHERE id = ? AND status IN ('open', 'acknowledged') RETURNING *`, c.ID)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("complaint %s is resolved: %w", c.Number, ErrBadMove)
	}
	if err != nil {
		return err
	}
	return s.noteComplaint(ctx, *c, StaffActor(by.ID), deed, "")
}

// AnswerComplaint adds a staff member's message, which acknowledges the complaint, and writes its letter. The same form twice is once.
// Errors: ErrNotFound, ErrBadInput; ErrBadMove when somebody else has resolved it meanwhile.
func (s *Store) AnswerComplaint(ctx context.Context, complaintID int64, by Staff, body, formKey string) error {
	body = Said(body)
	if err := checkMessage(body, formKey); err != nil {
		return err
	}
	return s.InTx(ctx, func(tx *Store) error {
		c, err := tx.lockComplaint(ctx, complaintOfStaff, complaintID, by.OutletID, by.OutletID)
		if err != nil {
			return err
		}
		if repeated, err := tx.said(ctx, c.ID, formKey); err != nil || repeated {
			return err
		}
		if err := tx.acknowledge(ctx, &c, by, "answer_complaint"); err != nil {
			return err
		}
		return tx.tellCustomer(ctx, c, by, LetterComplaintAnswered, body, formKey, false)
	})
}

// ResolveComplaint ends a complaint with an outcome and a message, and writes its letter. seen is the newest message the person had read:
// what was written since is not waved away. The same form twice is once.
// Errors: ErrNotFound, ErrBadInput, ErrNoRefund; ErrBadMove when it was resolved or written to meanwhile.
func (s *Store) ResolveComplaint(ctx context.Context, complaintID int64, by Staff, outcome, body, formKey string, seen int64) error {
	body = Said(body)
	if err := checkMessage(body, formKey); err != nil {
		return err
	}
	if !slices.Contains(Outcomes, outcome) {
		return fmt.Errorf("%w: outcome", ErrBadInput)
	}
	return s.InTx(ctx, func(tx *Store) error {
		c, err := tx.lockComplaint(ctx, complaintOfStaff, complaintID, by.OutletID, by.OutletID)
		if err != nil {
			return err
		}
		if repeated, err := tx.said(ctx, c.ID, formKey); err != nil || repeated {
			return err
		}
		if outcome == OutcomeRefunded {
			var refunded bool
			if err := tx.one(ctx, &refunded, `SELECT EXISTS (SELECT 1 FROM refunds WHERE order_id = ? AND status IN ('requested', 'submitted', 'processed'))`, c.OrderID); err != nil {
				return err
			}
			if !refunded {
				return fmt.Errorf("complaint %s: %w", c.Number, ErrNoRefund)
			}
		}
		err = tx.one(ctx, &c, `UPDATE complaints k SET status = 'resolved', resolved_at = shop_now(), outcome = ?, acknowledged_at = COALESCE(acknowledged_at, shop_now())
			WHERE id = ? AND status <> 'resolved' AND NOT EXISTS (SELECT 1 FROM complaint_messages m WHERE m.complaint_id = k.id AND m.id > ?) RETURNING *`, outcome, c.ID, seen)
		if errors.Is(err, ErrNotFound) {
			return fmt.Errorf("complaint %s is %s, or has newer messages: %w", c.Number, c.Status, ErrBadMove)
		}
		if err != nil {
			return err
		}
		if err := tx.noteComplaint(ctx, c, StaffActor(by.ID), "resolve_complaint", outcome); err != nil {
			return err
		}
		return tx.tellCustomer(ctx, c, by, LetterComplaintResolved, body, formKey, true)
	})
}

// tellCustomer writes a staff member's message and the letter that carries it.
func (s *Store) tellCustomer(ctx context.Context, c Complaint, by Staff, letter, body, formKey string, resolves bool) error {
	var messageID int64
	if err := s.one(ctx, &messageID, `INSERT INTO complaint_messages (complaint_id, author, body, form_key, resolves) VALUES (?, ?, ?, ?, ?) RETURNING id`,
		c.ID, StaffActor(by.ID), body, formKey, resolves); err != nil {
		return err
	}
	o, err := s.FindOrder(ctx, c.OrderID)
	if err != nil {
		return err
	}
	var told bool // an order that gets letters: its first one was written
	if err := s.one(ctx, &told, `SELECT EXISTS (SELECT 1 FROM outbox WHERE kind = ? AND ref = ? AND status <> 'skipped')`, LetterComplaintReceived, strconv.FormatInt(c.ID, 10)); err != nil {
		return err
	}
	if !told {
		o.Email = ""
	}
	return s.EnsureLetter(ctx, letter, strconv.FormatInt(messageID, 10), o)
}

// ListComplaintsOf returns an order's complaints without what was said, oldest first: for the order's own page.
func (s *Store) ListComplaintsOf(ctx context.Context, orderID int64) (complaints []Complaint, err error) {
	err = s.read(ctx, &complaints, `SELECT * FROM complaints WHERE order_id = ? ORDER BY id`, orderID)
	return complaints, err
}

// fillComplaint reads a complaint's dishes and messages.
func (s *Store) fillComplaint(ctx context.Context, c *Complaint) error {
	list := []Complaint{*c}
	err := s.fillComplaints(ctx, list)
	*c = list[0]
	return err
}

func (s *Store) fillComplaints(ctx context.Context, complaints []Complaint) error {
	if len(complaints) == 0 {
		return nil
	}
	ids, at := make(IDList, len(complaints)), map[int64]*Complaint{}
	for i := range complaints {
		c := &complaints[i]
		c.Lines, c.Messages = nil, nil
		ids[i], at[c.ID] = c.ID, c
	}
	var dishes []struct {
		ComplaintID int64
		Line        int
	}
	if err := s.read(ctx, &dishes, `SELECT complaint_id, line FROM complaint_dishes WHERE complaint_id = ANY (?::bigint[]) ORDER BY line`, ids); err != nil {
		return err
	}
	for _, d := range dishes {
		at[d.ComplaintID].Lines = append(at[d.ComplaintID].Lines, d.Line)
	}
	var messages []ComplaintMessage
	if err := s.read(ctx, &messages, `SELECT * FROM complaint_messages WHERE complaint_id = ANY (?::bigint[]) ORDER BY id`, ids); err != nil {
		return err
	}
	for _, m := range messages {
		at[m.ComplaintID].Messages = append(at[m.ComplaintID].Messages, m)
	}
	return nil
}

func (s *Store) listComplaints(ctx context.Context, where string, args ...any) (complaints []Complaint, err error) {
	if err = s.read(ctx, &complaints, `SELECT * FROM complaints WHERE `+where, args...); err != nil {
		return nil, err
	}
	return complaints, s.fillComplaints(ctx, complaints)
}

// FindComplaint returns an order's complaint by its number, with what was said. Errors: ErrNotFound.
func (s *Store) FindComplaint(ctx context.Context, orderID int64, number string) (c Complaint, err error) {
	if err = s.one(ctx, &c, `SELECT * FROM complaints WHERE order_id = ? AND number = ?`, orderID, number); err != nil {
		return c, err
	}
	return c, s.fillComplaint(ctx, &c)
}

// FindComplaintOf returns a complaint that is this member's business, with what was said. Errors: ErrNotFound, also for another outlet's.
func (s *Store) FindComplaintOf(ctx context.Context, complaintID int64, member Staff) (c Complaint, err error) {
	if err = s.one(ctx, &c, `SELECT * FROM complaints WHERE `+complaintOfStaff, complaintID, member.OutletID, member.OutletID); err != nil {
		return c, err
	}
	return c, s.fillComplaint(ctx, &c)
}

// FindComplaintSaying returns the complaint a message belongs to: a letter's. Errors: ErrNotFound.
func (s *Store) FindComplaintSaying(ctx context.Context, messageID string) (c Complaint, m ComplaintMessage, err error) {
	if err = s.one(ctx, &m, `SELECT * FROM complaint_messages WHERE id::text = ?`, messageID); err != nil {
		return c, m, err
	}
	err = s.one(ctx, &c, `SELECT * FROM complaints WHERE id = ?`, m.ComplaintID)
	return c, m, err
}

// FindComplaintReceived returns the complaint whose receipt a letter confirms. Errors: ErrNotFound.
func (s *Store) FindComplaintReceived(ctx context.Context, complaintID string) (c Complaint, err error) {
	err = s.one(ctx, &c, `SELECT * FROM complaints WHERE id::text = ?`, complaintID)
	return c, err
}

// ListComplaints returns an order's complaints with what was said, oldest first.
func (s *Store) ListComplaints(ctx context.Context, orderID int64) ([]Complaint, error) {
	return s.listComplaints(ctx, `order_id = ? ORDER BY id`, orderID)
}

// ListComplaintsFor returns what is this member's business: open ones by the clock that runs out next, then the latest resolved.
func (s *Store) ListComplaintsFor(ctx context.Context, member Staff, limit int) ([]Complaint, error) {
	return s.listComplaints(ctx, `(?::bigint IS NULL OR outlet_id = ?) ORDER BY due_at NULLS LAST, resolved_at DESC, id LIMIT ?`, member.OutletID, member.OutletID, limit)
}

// CareDays is how long what people said to the shop is kept after their complaint was resolved, or their review hidden: a consumer may go to
// a commission for two years (Consumer Protection Act 2019, s. 69), and then the words are what happened.
const CareDays = 2 * 365

// PurgeCare blanks what people said in complaints that were resolved, and in reviews that were hidden, longer ago than CareDays. That there
// was a complaint, of what kind and how it ended, stays. It says how many messages and reviews. Safe to repeat.
func (s *Store) PurgeCare(ctx context.Context) (int64, error) {
	messages := s.exec(ctx, `UPDATE complaint_messages m SET body = '', blanked_at = shop_now() FROM complaints c
		WHERE c.id = m.complaint_id AND c.status = 'resolved' AND c.resolved_at < shop_now() - make_interval(days => ?) AND m.blanked_at IS NULL`, CareDays)
	if messages.Error != nil {
		return 0, messages.Error
	}
	reviews := s.exec(ctx, `UPDATE reviews SET body = '' WHERE hidden_at < shop_now() - make_interval(days => ?) AND body <> ''`, CareDays)
	return messages.RowsAffected + reviews.RowsAffected, reviews.Error
}

// blankCareOf takes away what a customer said about orders: the words of complaints that are resolved, and of reviews. Stars, numbers, kinds
// and outcomes name nobody and stay; a complaint that is open keeps its words until it is settled. Safe to repeat. Inside InTx only.
func (s *Store) blankCareOf(ctx context.Context, customerID int64) error {
	if err := s.exec(ctx, `UPDATE complaint_messages m SET body = '', blanked_at = shop_now() FROM complaints c JOIN orders o ON o.id = c.order_id
		WHERE c.id = m.complaint_id AND c.status = 'resolved' AND o.customer_id = ? AND m.blanked_at IS NULL`, customerID).Error; err != nil {
		return err
	}
	return s.exec(ctx, `UPDATE reviews SET body = '' WHERE order_id IN (SELECT id FROM orders WHERE customer_id = ?) AND body <> ''`, customerID).Error
}
