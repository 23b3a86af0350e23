package models

import (
	"context"
	"encoding/json"
)

// Accounts of the double-entry ledger. Debits are positive, credits negative; a transaction sums to zero (checked at COMMIT).
const (
	accountClearing    = "gateway_clearing" // captured, and neither given back nor paid out yet
	accountCash        = "cash"             // taken in cash and not given back
	accountSales       = "sales"            // food, packaging, delivery, less discount, without tax
	accountReturns     = "sales_returns"    // the same, given back
	accountCGST        = "output_cgst"
	accountSGST        = "output_sgst"
	accountTips        = "tips"
	accountRoundOff    = "round_off"
	accountCustomerFee = "customer_fees"   // Razorpay's fee where the customer bears it
	accountPayable     = "refunds_payable" // money we owe back
	accountFees        = "gateway_fees"    // Razorpay's, without tax
	accountFeeTax      = "gateway_fee_tax" // GST on them
	accountBank        = "bank"            // paid out to us
	accountDisputes    = "disputes"        // taken out of a payout for a dispute that was lost
)

// entries is one transaction: what each account gets. Zeros are left out.
type entries map[string]Paise

// sale is what a kept payment's order earned, to be credited.
func sale(p Parts) entries {
	return entries{accountSales: -p.TaxablePaise(), accountCGST: -p.CGSTPaise, accountSGST: -p.SGSTPaise, accountTips: -p.TipPaise,
		accountRoundOff: -p.RoundOffPaise, accountCustomerFee: -p.CustomerFeePaise}
}

// giveBack is a share of a kept payment's bill that is owed to the customer from now on.
func giveBack(p Parts) entries {
	return entries{accountReturns: p.TaxablePaise(), accountCGST: p.CGSTPaise, accountSGST: p.SGSTPaise, accountTips: p.TipPaise,
		accountRoundOff: p.RoundOffPaise, accountCustomerFee: p.CustomerFeePaise, accountPayable: -p.Amount()}
}

func (e entries) reversed() entries {
	out := entries{}
	for account, paise := range e {
		out[account] = -paise
	}
	return out
}

// post books one transaction. Once per (kind, ref): a repeat changes nothing. Inside InTx only.
func (s *Store) post(ctx context.Context, kind, refType, ref string, lines entries) error {
	text, err := json.Marshal(lines)
	if err != nil {
		return err
	}
	return s.exec(ctx, `WITH txn AS (INSERT INTO ledger_txns (kind, ref_type, ref_id) VALUES (?, ?, ?) ON CONFLICT (kind, ref_type, ref_id) DO NOTHING RETURNING id)
		INSERT INTO ledger_entries (txn_id, account, amount_paise) SELECT txn.id, l.key, l.value::bigint FROM txn, jsonb_each_text(?::jsonb) l WHERE l.value <> '0'`,
		kind, refType, ref, string(text)).Error
}
