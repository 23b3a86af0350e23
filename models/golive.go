package models

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrIncomplete says what customers have to be told and are not yet (E-Commerce Rules 2020, food safety law).
var ErrIncomplete = errors.New("not ready to go live")

// Missing names what customers have to be told about the outlet and are not, in the words of the staff's form; empty: nothing. The
// function outlet_missing in the schema says the same.
func (o Outlet) Missing() (missing []string) {
	for _, f := range []struct{ what, value string }{{"legal name", o.LegalName}, {"email", o.Email}, {"FSSAI number", o.FSSAI},
		{"grievance officer", o.GrievanceName}, {"contact of the grievance officer", o.GrievanceContact}} {
		if f.value == "" {
			missing = append(missing, f.what)
		}
	}
	return missing
}

// GoLive lets the shop take real money for the first time, if every active outlet tells customers what it has to; from then on nothing of
// it can be taken away, and a gap of an outlet that is new is put before a person, never an outage. Safe to repeat: a shop that is live
// stays so. Errors: ErrIncomplete, naming all that is missing.
func (s *Store) GoLive(ctx context.Context) error {
	return s.InTx(ctx, func(tx *Store) error {
		var live bool
		if err := tx.one(ctx, &live, `SELECT EXISTS (SELECT 1 FROM settings WHERE name = 'live_since')`); err != nil || live {
			return err
		}
		outlets, err := tx.ListOutlets(ctx)
		if err != nil {
			return err
		}
		var gaps []string
		for _, o := range outlets {
			if missing := o.Missing(); len(missing) > 0 {
				gaps = append(gaps, o.Name+" lacks "+strings.Join(missing, ", "))
			}
		}
		if len(gaps) > 0 {
			return fmt.Errorf("%w: %s; fill it in under a test key, at /staff/outlet", ErrIncomplete, strings.Join(gaps, "; "))
		}
		return tx.exec(ctx, `INSERT INTO settings (name, value) VALUES ('live_since', shop_now()::text) ON CONFLICT (name) DO NOTHING`).Error
	})
}

// Contacts is what customers are told about an outlet, as staff fill it in.
type Contacts struct {
	LegalName, Address, PIN, Phone, Email, FSSAI, GSTIN, GrievanceName, GrievanceContact string
}

// ErrLive says that something customers have to be told would be taken away in live mode.
var ErrLive = errors.New("cannot be taken away in live mode")

// SaveContacts writes what customers are told about an outlet, for a staff member who has a say there. The change is audited.
// Safe to repeat. Errors: ErrNotFound, ErrLive, ErrBadInput for what the database's checks refuse.
func (s *Store) SaveContacts(ctx context.Context, outletID int64, c Contacts, staffID int64) error {
	err := s.InTx(ctx, func(tx *Store) error {
		r := tx.exec(ctx, `UPDATE outlets SET legal_name = ?, address = ?, pin = ?, phone = ?, email = ?, fssai = ?, gstin = ?, grievance_name = ?, grievance_contact = ? WHERE id = ? AND `+staffOfOutlet,
			c.LegalName, c.Address, c.PIN, c.Phone, c.Email, c.FSSAI, c.GSTIN, c.GrievanceName, c.GrievanceContact, outletID, staffID, outletID)
		if r.Error != nil {
			return r.Error
		}
		if r.RowsAffected == 0 {
			return fmt.Errorf("contacts of outlet %d: %w", outletID, ErrNotFound)
		}
		return tx.recordDeed(ctx, staffID, "save_contacts", fmt.Sprintf("outlet %d", outletID), outletID)
	})
	switch {
	case isConstraint(err, "outlets_live_check"):
		return ErrLive
	case isCheck(err):
		return fmt.Errorf("%w: %s", ErrBadInput, err)
	}
	return err
}
