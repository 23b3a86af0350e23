package models

import "context"

// Accounts of the double-entry ledger. Debits are positive, credits negative; a transaction sums to zero (checked at COMMIT).
const (
	accountClearing = "gateway_clearing" // money the gateway holds for us
	accountSales    = "sales"
	accountReturns  = "sales_returns"
	accountPayable  = "refunds_payable" // money we owe back
)

// post books amount from one account to another: + to, − from. Once per (kind, ref): a repeat changes nothing. Inside InTx only.
func (s *Store) post(ctx context.Context, kind, refType, ref string, amount Paise, to, from string) error {
	return s.exec(ctx, `WITH txn AS (INSERT INTO ledger_txns (kind, ref_type, ref_id) VALUES (?, ?, ?) ON CONFLICT (kind, ref_type, ref_id) DO NOTHING RETURNING id)
		INSERT INTO ledger_entries (txn_id, account, amount_paise) SELECT id, ?, ?::bigint FROM txn UNION ALL SELECT id, ?, -?::bigint FROM txn`,
		kind, refType, ref, to, amount, from, amount).Error
}
