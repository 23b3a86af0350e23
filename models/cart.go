package models

// Cart is what a session wants to buy from one outlet. It holds ids and quantities; prices come from PriceCart.
type Cart struct {
	ID         int64
	OutletID   int64
	CustomerID int64
	Version    int64      // +1 at each change of its lines
	Lines      []CartLine `gorm:"-"` // oldest first
}

// CartLine is one dish with one set of options.
type CartLine struct {
	ID        int64
	CartID    int64
	OutletID  int64
	ItemID    int64
	OptionIDs []int64 `gorm:"-"` // sorted, no repeats; a bigint[] column
	Qty       int     // 1..20
	Note      string  // up to 200 characters, for the kitchen
	Seq       int64
	SeenPaise Paise // price of one when it was added
}

// Quantity is how many pieces the cart holds.
func (c Cart) Quantity() int {
	n := 0
	for _, l := range c.Lines {
		n += l.Qty
	}
	return n
}

const (
	MaxLineQty = 20 // of one line; the database checks it too
	MaxLines   = 50 // of one cart
)
