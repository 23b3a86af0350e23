package models

import (
	"errors"
	"strings"
	"testing"
)

// Going live the first time is refused while something customers have to be told is missing, naming all of it; afterwards nothing of it can
// be taken away, and a new outlet with a gap is put before a person, while the shop goes on.
func TestGoLive(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet := mustOutlet(t, s, "here")
	mustExec(t, s, `UPDATE outlets SET name = 'Here', legal_name = '', email = '', fssai = '', grievance_name = '', grievance_contact = ''`)
	err := s.GoLive(ctx)
	if !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "Here lacks legal name, email, FSSAI number, grievance officer, contact of the grievance officer") {
		t.Errorf("%v", err)
	}
	owner, err := s.CreateStaff(ctx, Staff{Login: "meera", Name: "Meera", Role: "owner", Active: true}, "a long password of hers")
	if err != nil {
		t.Fatal(err)
	}
	full := Contacts{LegalName: "Here Foods LLP", Address: "1, The Road", PIN: "560038", Phone: "+918012345678", Email: "hello@here.example", FSSAI: "10020043001234", GSTIN: "29ABCDE1234F1ZW",
		GrievanceName: "Meera Iyer", GrievanceContact: "care@here.example"}
	for _, c := range []struct {
		name   string
		change func(*Contacts)
		want   error
	}{
		{"one short of all", func(c *Contacts) { c.GrievanceContact = "" }, nil},
		{"a number that is none", func(c *Contacts) { c.FSSAI = "123" }, ErrBadInput},
		{"a regular taxpayer without a number", func(c *Contacts) { c.GSTIN = "" }, ErrBadInput},
	} {
		contacts := full
		c.change(&contacts)
		if err := s.SaveContacts(ctx, outlet, contacts, owner.ID); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := s.GoLive(ctx); !errors.Is(err, ErrIncomplete) {
			t.Errorf("%s: live, %v", c.name, err)
		}
	}
	if err := s.SaveContacts(ctx, outlet, full, owner.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.GoLive(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, take := range []func(*Contacts){func(c *Contacts) { c.LegalName = "" }, func(c *Contacts) { c.Email = "" }, func(c *Contacts) { c.FSSAI = "" }, func(c *Contacts) { c.GrievanceName = "" },
		func(c *Contacts) { c.GrievanceContact = "" }} {
		less := full
		take(&less)
		if err := s.SaveContacts(ctx, outlet, less, owner.ID); !errors.Is(err, ErrLive) {
			t.Errorf("%+v: %v", less, err)
		}
	}
	changed := full
	changed.GrievanceName = "Asha Rao"
	if err := s.SaveContacts(ctx, outlet, changed, owner.ID); err != nil {
		t.Errorf("a change: %v", err)
	}
	if err := s.exec(ctx, `UPDATE outlets SET email = ''`).Error; err == nil || !strings.Contains(err.Error(), "live mode") {
		t.Errorf("a person with psql: %v", err)
	}
	mustOutlet(t, s, "there")
	mustExec(t, s, `UPDATE outlets SET name = 'There' WHERE slug = 'there'`)
	if err := s.GoLive(ctx); err != nil {
		t.Errorf("a gap is an outage: %v", err)
	}
	if _, err := s.RefreshTasks(ctx); err != nil {
		t.Fatal(err)
	}
	if got := mustRead[string](t, s, `SELECT kind || ': ' || detail FROM staff_tasks WHERE closed_at IS NULL`); !strings.HasPrefix(got, "incomplete: There lacks legal name") {
		t.Error(got)
	}
	// What a program and the schema call missing is the same.
	if got, want := mustRead[string](t, s, `SELECT array_to_string(outlet_missing(o), ', ') FROM outlets o WHERE slug = 'there'`), (Outlet{}).Missing(); got != strings.Join(want, ", ") {
		t.Errorf("the schema says %s, the program %v", got, want)
	}
}
