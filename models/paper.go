package models

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Paper is a document that tax law has a shop write, with its number. It never changes, and what it says is what it said when it was
// issued (papers_keep).
//
// Which paper belongs to which money: the price is paid before the food is there, so a kept payment is an advance and has a receipt voucher
// (rule 50). The supply is done when the food is handed over: then the tax invoice is issued, or where no tax may be charged the bill of
// supply, over what was not given back before. Money that goes back before has a refund voucher (rule 51), and a credit note afterwards
// (section 34), each when it is booked that the money is owed, not when the bank is done: a refund that fails is still owed and asked for
// again under the same paper. A request that is taken back, since somebody gave the money back by another road, is answered by a debit note,
// or before the invoice by another receipt voucher; nothing that was issued is ever undone. Money that was never kept paid for no
// supply, so it has no paper; nor have a tip and Razorpay's fee where the customer bears it, which stand beside the paper's value.
//
// At every moment the papers say what the books say: receipts less refund vouchers, or from then on invoice and debit notes less credit
// notes, are the bill less what was given back of it (INV-46).
type Paper struct {
	ID               int64
	OutletID         int64
	Kind             string // one of the Paper… constants
	FY               int    `gorm:"column:fy"` // the year it began in: 2026 for 2026-27
	Serial           int
	Number           string // of kind, outlet, year and serial; at most 16 characters
	OrderID          int64
	Cause            string // paid, handed_over, refund, void
	RefundID         *string
	TaxMode          string
	TaxablePaise     Paise
	CGSTPaise        Paise `gorm:"column:cgst_paise"`
	SGSTPaise        Paise `gorm:"column:sgst_paise"`
	RoundOffPaise    Paise
	TotalPaise       Paise // the paper's value
	TipPaise         Paise
	CustomerFeePaise Paise
	MoneyPaise       Paise // TotalPaise and what came or goes with it
	Printed          Printed
	IssuedAt         time.Time
}

// Kinds of papers.
const (
	PaperReceipt = "receipt_voucher"
	PaperInvoice = "tax_invoice"
	PaperBill    = "bill_of_supply"
	PaperVoucher = "refund_voucher"
	PaperCredit  = "credit_note"
	PaperDebit   = "debit_note"
)

// Printed is all that a paper says beside its sums. issue_paper writes it, the views read it.
type Printed struct {
	Seller struct {
		Name      string `json:"name"`
		LegalName string `json:"legal_name"`
		Address   string `json:"address"`
		PIN       string `json:"pin"`
		Phone     string `json:"phone"`
		GSTIN     string `json:"gstin"`
		FSSAI     string `json:"fssai"`
	} `json:"seller"`
	Buyer struct { // only where the law wants it: a business that gave its GSTIN, or ₹50,000 and more. Otherwise who it was is the order's to say, or to forget.
		Name    string `json:"name"`
		GSTIN   string `json:"gstin"`
		Address string `json:"address"`
	} `json:"buyer"`
	Lines             []PaperLine `json:"lines"`
	Taxes             []PaperTax  `json:"taxes"`
	OrderNumber       int         `json:"order_number"`
	PlacedAt          time.Time   `json:"placed_at"`
	Coupon            string      `json:"coupon"`
	Method            string      `json:"method"`
	RazorpayPaymentID string      `json:"razorpay_payment_id"`
	Reason            string      `json:"reason"` // why money goes back
	AgainstNumber     string      `json:"against_number"`
	AgainstKind       string      `json:"against_kind"`
	AgainstAt         *time.Time  `json:"against_at"`
}

// PaperLine is one line of a paper. part and less have no quantity.
type PaperLine struct {
	What          string `json:"what"` // dish, packaging, delivery; part: a share of the bill that names no dish; less: an earlier paper, Name its number
	Name          string `json:"name"`
	Options       string `json:"options"`
	Qty           int    `json:"qty"`
	UnitPaise     Paise  `json:"unit_paise"`
	DiscountPaise Paise  `json:"discount_paise"`
	TaxablePaise  Paise  `json:"taxable_paise"` // negative where an earlier paper is taken off
	TaxClass      string `json:"tax_class"`     // empty where no tax may be charged
}

// PaperTax is the tax of one class.
type PaperTax struct {
	TaxClass     string      `json:"tax_class"`
	TaxablePaise Paise       `json:"taxable_paise"`
	CGSTBP       BasisPoints `json:"cgst_bp"`
	SGSTBP       BasisPoints `json:"sgst_bp"`
	CGSTPaise    Paise       `json:"cgst_paise"`
	SGSTPaise    Paise       `json:"sgst_paise"`
}

// Value and Scan write and read the column.
func (p Printed) Value() (driver.Value, error) {
	text, err := json.Marshal(p)
	return string(text), err
}

func (p *Printed) Scan(src any) error {
	switch text := src.(type) {
	case []byte:
		return json.Unmarshal(text, p)
	case string:
		return json.Unmarshal([]byte(text), p)
	}
	return fmt.Errorf("models: %T is not a paper's text", src)
}

// issuePaper writes the paper that a cause makes due, with the next number of its series, taken in this transaction; none where the
// cause is about no supply. Safe to repeat: one paper per cause. Papers of one series wait for each other's commit, so call it last.
// Inside InTx only, under the order's lock.
func (s *Store) issuePaper(ctx context.Context, orderID int64, cause string, refundID *string) error {
	if err := s.exec(ctx, `SELECT issue_paper(?, ?, ?::uuid)`, orderID, cause, refundID).Error; err != nil {
		return fmt.Errorf("paper of order %d, %s: %w", orderID, cause, err)
	}
	return nil
}

// ListPapers returns an order's papers, oldest first.
func (s *Store) ListPapers(ctx context.Context, orderID int64) (papers []Paper, err error) {
	err = s.read(ctx, &papers, `SELECT * FROM papers WHERE order_id = ? ORDER BY id`, orderID)
	return papers, err
}

// PathNumber is a paper's number as an address has it: T1-26-27-00123.
func (p Paper) PathNumber() string { return strings.ReplaceAll(p.Number, "/", "-") }

// FindPaper returns an order's paper by its number as an address has it. Errors: ErrNotFound.
func (s *Store) FindPaper(ctx context.Context, orderID int64, pathNumber string) (p Paper, err error) {
	if !isText(pathNumber) {
		return p, ErrNotFound
	}
	err = s.one(ctx, &p, `SELECT * FROM papers WHERE order_id = ? AND replace(number, '/', '-') = ?`, orderID, pathNumber)
	return p, err
}

// PrintTicket notes that an order's ticket is printed once more and says the how many-eth time it is: the first is the ticket, any later one
// a copy. Errors: ErrNotFound for an order without ticket.
func (s *Store) PrintTicket(ctx context.Context, orderID int64, by string) (nth int, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		if err := tx.one(ctx, new(int64), `SELECT order_id FROM fulfilments WHERE order_id = ? FOR NO KEY UPDATE`, orderID); err != nil { // prints take turns
			return err
		}
		if err := tx.one(ctx, &nth, `INSERT INTO ticket_prints (order_id, nth, printed_by) SELECT ?, COALESCE(max(nth), 0) + 1, ? FROM ticket_prints WHERE order_id = ? RETURNING nth`, orderID, by, orderID); err != nil {
			return err
		}
		return tx.Audit(ctx, by, "print_ticket", &orderID, fmt.Sprintf("print %d", nth))
	})
	return nth, err
}

// FindTicketPrint says when a ticket was printed for the nth time. Errors: ErrNotFound.
func (s *Store) FindTicketPrint(ctx context.Context, orderID int64, nth int) (printedAt time.Time, err error) {
	err = s.one(ctx, &printedAt, `SELECT printed_at FROM ticket_prints WHERE order_id = ? AND nth = ?`, orderID, nth)
	return printedAt, err
}
