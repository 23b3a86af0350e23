package models

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
