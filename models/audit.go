package models

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// The paise audit: where every captured paisa is, and every row that does not say so. docs/audit.md is the page about it. It reads what
// is written, in one transaction that sees one moment, and changes nothing. What is true of every row at every commit is the view
// broken_invariants' to say; the audit takes that over, and adds by how many paise, and in which row, the books are apart.

// AuditScope says of what the books are read. The zero scope is everything.
type AuditScope struct {
	Day      string // 2006-01-02 in India: money captured on it and what has become of that since, bills of its orders; "": all time
	OutletID int64  // 0: all outlets
}

// Audit is what was found. It is the answer of `tiffin audit -json`: docs/audit.md says what its fields mean.
type Audit struct {
	Day              string         `json:"day"` // "": all time
	OutletID         int64          `json:"outlet_id,omitempty"`
	ReadAt           time.Time      `json:"read_at"`
	Headings         []AuditHeading `json:"headings"`
	UnexplainedPaise Paise          `json:"unexplained_paise"`
	Findings         []AuditFinding `json:"findings"` // empty: every paisa is explained
	More             bool           `json:"more"`     // a check found more rows than it names
}

// AuditHeading is one sum. Code is fixed for programs to read, Title for people.
type AuditHeading struct {
	Code  string `json:"code"`
	Title string `json:"title"`
	Paise Paise  `json:"paise"`
}

// AuditFinding is one row that does not fit the others, and by how much.
type AuditFinding struct {
	Check   string `json:"check"`
	Table   string `gorm:"column:tbl" json:"table"`
	ID      string `json:"id"` // the row's key; its parts apart by a slash
	OrderID *int64 `json:"order_id"`
	Paise   Paise  `json:"paise"` // unexplained, never less than 0; 0 where what is wrong is no amount
	Text    string `json:"text"`
}

// Add puts findings that were made elsewhere among the others.
func (a *Audit) Add(findings ...AuditFinding) {
	for _, f := range findings {
		a.Findings = append(a.Findings, f)
		a.UnexplainedPaise += f.Paise
	}
}

// Paise returns the sum under a heading.
func (a Audit) Paise(code string) Paise {
	for _, h := range a.Headings {
		if h.Code == code {
			return h.Paise
		}
	}
	return 0
}

// AuditPaise reads the books. Errors: ErrBadInput for a day that is none.
func (s *Store) AuditPaise(ctx context.Context, scope AuditScope) (a Audit, err error) {
	if _, dayErr := time.Parse(time.DateOnly, scope.Day); scope.Day != "" && dayErr != nil {
		return a, fmt.Errorf("%w: day %q", ErrBadInput, scope.Day)
	}
	if s.inTx {
		return s.audit(ctx, scope)
	}
	err = s.db.WithContext(ctx).Transaction(func(db *gorm.DB) (err error) {
		tx := *s
		tx.db, tx.inTx = db, true
		a, err = tx.audit(ctx, scope)
		return err
	}, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	return a, err
}

// mostFindings is how many rows one check names.
const mostFindings = 200

func (s *Store) audit(ctx context.Context, scope AuditScope) (Audit, error) {
	a := Audit{Day: scope.Day, OutletID: scope.OutletID, Findings: []AuditFinding{}}
	var err error
	if a.ReadAt, err = s.Now(ctx); err != nil {
		return a, err
	}
	sums := map[string]any{}
	if err := s.db.WithContext(ctx).Raw(auditSums, scope.Day, scope.Day, scope.OutletID, scope.OutletID, scope.Day, scope.Day).Scan(&sums).Error; err != nil {
		return a, fmt.Errorf("audit sums: %w", err)
	}
	for _, h := range auditHeadings {
		paise, ok := sums[h.Code].(int64)
		if !ok {
			return a, fmt.Errorf("audit sums: %s is %T", h.Code, sums[h.Code])
		}
		h.Paise = Paise(paise)
		a.Headings = append(a.Headings, h)
	}
	named := map[int64]bool{} // orders
	ledger := false
	for _, c := range auditChecks {
		var found []AuditFinding
		if err := s.read(ctx, &found, `SELECT ? AS "check", f.tbl, f.id, f.order_id, abs(f.paise)::bigint AS paise, f.text FROM (`+c.sql+`) f (tbl, id, order_id, paise, at, text) LEFT JOIN orders o ON o.id = f.order_id
			WHERE (? = '' OR (f.at AT TIME ZONE 'Asia/Kolkata')::date::text = ?) AND (? = 0 OR o.outlet_id = ?) ORDER BY f.order_id, f.id LIMIT ?`,
			c.name, scope.Day, scope.Day, scope.OutletID, scope.OutletID, mostFindings+1); err != nil {
			return a, fmt.Errorf("audit %s: %w", c.name, err)
		}
		if len(found) > mostFindings {
			found, a.More = found[:mostFindings], true
		}
		for _, f := range found {
			// A broken promise whose order, or whose ledger, is named with its paise already is the same fault told again.
			if c.general && (f.OrderID != nil && named[*f.OrderID] || f.Table == "ledger_entries" && ledger) {
				continue
			}
			a.Add(f)
		}
		for _, f := range found {
			if f.OrderID != nil {
				named[*f.OrderID] = true
			}
			ledger = ledger || f.Table == "ledger_txns" || f.Table == "payments"
		}
	}
	if len(a.Findings) == 0 {
		a.Add(a.unequal()...)
	}
	return a, nil
}

// unequal are the sums that should be the same and are not, while each row by itself looks right.
func (a Audit) unequal() (findings []AuditFinding) {
	for _, e := range []struct {
		id, text    string
		left, right Paise
	}{
		{"captured", "What was captured is not what is kept, refunded and being refunded together", a.Paise("captured"), a.Paise("kept") + a.Paise("refunded") + a.Paise("refunding")},
		{"charged", "What was charged is not what the parts of the bills come to", a.Paise("charged"), a.Paise("dishes") - a.Paise("discount") + a.Paise("packaging") + a.Paise("delivery") +
			a.Paise("cgst") + a.Paise("sgst") + a.Paise("tips") + a.Paise("round_off")},
		{"paid", "What was captured for orders is not what was charged", a.Paise("captured") - a.Paise("returned"), a.Paise("charged") + a.Paise("customer_fees")},
		{"settled", "What was captured and not refunded is not what was paid out, taken as fees, still to come, and cash in hand", a.Paise("captured") - a.Paise("refunded"),
			a.Paise("paid_out") + a.Paise("fees") + a.Paise("fee_tax") + a.Paise("awaiting") + a.Paise("cash")},
	} {
		if e.left != e.right {
			findings = append(findings, AuditFinding{Check: "sums", Table: "audit", ID: e.id, Paise: magnitude(e.left - e.right), Text: fmt.Sprintf("%s: %d and %d paise", e.text, e.left, e.right)})
		}
	}
	return findings
}

// ListAuditedGatewayOrders names the gateway's orders whose payments belong to a scope: of orders placed then, or paid then.
func (s *Store) ListAuditedGatewayOrders(ctx context.Context, scope AuditScope) (orders []GatewayOrder, err error) {
	err = s.read(ctx, &orders, `SELECT g.* FROM gateway_orders g JOIN orders o ON o.id = g.order_id
		WHERE (? = 0 OR o.outlet_id = ?) AND (? = '' OR (o.placed_at AT TIME ZONE 'Asia/Kolkata')::date::text = ?
			OR EXISTS (SELECT 1 FROM payments p WHERE p.razorpay_order_id = g.razorpay_order_id AND (p.decided_at AT TIME ZONE 'Asia/Kolkata')::date::text = ?)) ORDER BY g.order_id, g.generation`,
		scope.OutletID, scope.OutletID, scope.Day, scope.Day, scope.Day)
	return orders, err
}
