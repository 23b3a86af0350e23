package models

// Customer is a person who orders; a guest is one too, with empty fields until the first order.
type Customer struct {
	ID    int64
	Name  string
	Phone string
	Email string
}
