/*
 * Whose the money is: recordPayment (payments/record.go) with AdvancePayment, KeepPayment, ReturnPayment (models/payment.go), for one order
 * and two payments of it, told of by page, webhook and sweep, while the order is cancelled, lapses, its kitchen closes, its dish is sold.
 *
 * Every atomic block is one transaction or one effect outside; between two of them anything may happen, and a process may die (crash).
 * Planted mistakes are the names in #ifdef; scripts/model tries each. docs/model.md explains.
 */
#define N 2 /* payments: one browser tries twice, or two browsers once each */

mtype = { none, failed, authorized, voided, captured,     /* a payment, there and here */
	  pending, paid, cancelled, expired,              /* the order */
	  kept, refund,                                   /* a decision */
	  held, committed, released,                      /* the hold of its dish */
	  queued, handedOver,                             /* the ticket; also cancelled */
	  received, processed };                          /* a webhook event */

/* The gateway. */
mtype there[N + 1] = none;
bool wrong;               /* payment 2 is not of the order's amount */

/* The database. */
mtype here[N + 1] = none; /* payments.gw_status */
mtype decided[N + 1] = none;
byte asked[N + 1];        /* automatic refunds requested for it: rows */
bool back[N + 1];         /* kept, and asked back with the order's cancellation */
mtype status = pending;
mtype hold = held;
mtype ticket = none;
byte tickets, letters;    /* made ever */
mtype event[N + 1] = none; /* webhook_events: "payment.captured" of this payment */

/* The world. */
bool taken;               /* the last portion was sold to somebody else */
bool deaf;                /* webhooks are lost from now on */

bool good; byte x, n; /* scratch: 0 between two steps */

/* paymentRank */
#define RANK(s) (s == none -> 0 : (s == failed -> 1 : (s == authorized -> 2 : 3)))

inline check() { d_step { /* true at every commit */
	n = 0;
	for (x : 1 .. N) {
		assert((here[x] == captured) == (decided[x] != none));          /* INV-3: captured means decided */
		assert(decided[x] == none || there[x] == captured);             /* INV-10: only money that was taken */
		assert(asked[x] == (decided[x] == refund -> 1 : 0));            /* INV-4, INV-25: one automatic refund of what is not kept */
		assert(!back[x] || (decided[x] == kept && status == cancelled)); /* INV-13: a cancelled order stays cancelled */
		assert(event[x] != processed || decided[x] != none);            /* INV-40: an event is done when its money is decided */
		if :: decided[x] == kept -> n++;
			assert(status == paid || (status == cancelled && back[x])); /* INV-11, INV-13: kept means paid, or cancelled with the money on its way back */
			assert(!(wrong && x == 2))                                  /* INV-9: kept is what was asked for */
		   :: else
		fi
	}
	assert(n <= 1);                                                     /* INV-1: one kept payment */
	assert(status != paid || (n == 1 && ticket != none && ticket != cancelled)); /* INV-11: paid means kept and a ticket */
	assert(tickets == n && letters == n);                               /* INV-12, INV-41: one ticket, one confirmation */
	assert((hold == committed) == (status == paid));                    /* INV-37 */
	assert(status == pending || status == paid || hold == released);    /* INV-37: a closed order holds nothing */
	assert(!(hold != released && taken));                               /* INV-35: a portion is sold once */
	n = 0; x = 0
} }

/* MoveOrder: a closed order gives its dishes back. */
inline close(to) { status = to; hold = released }

/* decide: judge, CommitHolds, then KeepPayment or ReturnPayment. */
inline decide(i) {
	here[i] = captured;
	if
#ifdef CLOSED_MAY_BE_PAID
	:: !(wrong && i == 2) && status != paid && !taken ->
#else
	:: !(wrong && i == 2) && status == pending && (hold == held || !taken) ->
#endif
		decided[i] = kept; status = paid; hold = committed; ticket = queued; tickets++; letters++
#ifdef KEPT_WITHOUT_DISHES
	:: !(wrong && i == 2) && status == pending && hold == released && taken ->
		decided[i] = kept; status = paid; hold = committed; ticket = queued; tickets++; letters++
#endif
	:: else ->
		decided[i] = refund; asked[i]++;
		if :: !(wrong && i == 2) && status == pending -> close(cancelled) /* hold_lapsed; kitchen_closed and slot_passed go the same way */
		   :: else
		fi
	fi
}

inline crash() { atomic { if :: skip :: seen = none; i = 0; goto gone fi } }

/* The transaction of recordPayment, under the order's lock. closing: it was a webhook's, whose event is closed in the same commit. */
inline record(i, seen, closing) { /* crash: nothing was written */
#ifdef DECIDED_WITHOUT_LOCK
	good = (!(wrong && i == 2) && status == pending && !taken && decided[i] == none);
	atomic {
		if
		:: seen == captured && decided[i] == none && good -> here[i] = captured;
			decided[i] = kept; status = paid; hold = committed; ticket = queued; tickets++; letters++
		:: seen == captured && decided[i] == none && !good -> decide(i)
		:: else -> if :: RANK(seen) > RANK(here[i]) -> here[i] = seen :: else fi
		fi;
#else
#ifdef SEEN_AND_DECIDED_APART
	atomic {
		good = (RANK(seen) > RANK(here[i])); /* moved */
		if :: good -> here[i] = seen :: else fi
	}
	crash();
	atomic {
		if :: good && seen == captured -> decide(i) :: else fi;
#else
	atomic {
		if
#ifdef PAID_ALREADY_RETURNS
		:: status == paid && decided[i] == none
#endif
		:: seen == captured && decided[i] == none && here[i] != voided -> decide(i)
		:: else ->
#ifdef RANK_MAY_FALL
			here[i] = seen
#else
			if :: RANK(seen) > RANK(here[i]) -> here[i] = seen :: else fi
#endif
		fi;
#endif
#endif
		if :: closing -> event[i] = processed :: else fi;
		check();
		assert(seen != captured || decided[i] != none); /* what a report brought, and was answered without an error, is decided */
		seen = none; i = 0
	}
}

/* The bank and Razorpay: an attempt fails, may succeed late, is captured by itself or goes back uncaptured. Or nobody pays. */
proctype payment(byte i) {
	atomic { if :: goto over :: there[i] = authorized :: there[i] = failed fi };
	atomic { if :: there[i] == authorized :: there[i] == failed -> if :: goto over :: there[i] = authorized fi fi };
	if :: there[i] = captured :: there[i] = voided fi;
over:	skip
}

/* The page's script or form: a slip signed at authorization, verified over our stored id, then VerifyCheckout → recordPayment. It may never come. */
proctype page() {
	byte i;
	mtype seen;
	atomic {
		if :: there[1] == authorized || there[1] == captured -> i = 1
		   :: there[2] == authorized || there[2] == captured -> i = 2
		   :: goto gone
		fi;
#ifdef SLIP_IS_BELIEVED
		seen = captured
#else
		seen = there[i] /* FetchPayment */
#endif
	}
	record(i, seen, false);
gone:	skip
}

/* ReceiveWebhook stores the event of a capture, or it is lost; ProcessEvent asks the gateway and records. */
proctype webhook() {
	byte i;
	mtype seen;
gone:
end:	do
	:: atomic { !deaf && there[1] == captured && event[1] == none -> event[1] = received }
	:: atomic { !deaf && there[2] == captured && event[2] == none -> event[2] = received }
	:: atomic { !deaf -> deaf = true }
	:: atomic { event[1] == received || event[2] == received ->
		i = (event[1] == received -> 1 : 2);
#ifdef EVENT_CLOSED_FIRST
		event[i] = processed; check();
#endif
		seen = there[i] }
	   crash();
	   record(i, seen, true)
	od
}

/* Reconcile: asks about the order while there may be news, then does what time has brought about. */
#ifdef SWEEP_ASKS_ABOUT_PENDING
#define DUE (status == pending)
#else
#define DUE true
#endif
proctype sweep() {
	byte i;
	mtype seen;
gone:
end:	do
	:: atomic { DUE && (there[1] != here[1] || there[2] != here[2]) -> /* askAbout: lists the payments */
		if :: there[1] != here[1] -> i = 1 :: there[2] != here[2] -> i = 2 fi;
		seen = there[i] }
	   crash();
	   record(i, seen, false)
	/* LapseOrder, asked or not: five minutes after the hold the dish goes back on sale, five later the order ends. */
	:: atomic { status == pending && hold == held -> hold = released; check() }
#ifdef LAPSED_WITHOUT_LOCK
	:: status == pending && hold == released -> atomic { close(expired); check() }
#else
	:: atomic { status == pending && hold == released -> close(expired); check() }
#endif
	od
}

/* CancelOrder by customer or staff; a new order of the same cart (supersede) does the first of the two. */
proctype cancel() {
#ifdef CANCELLED_WITHOUT_LOCK
	if :: status == pending -> atomic { close(cancelled); check(); goto gone } :: else fi;
#endif
	atomic {
		if
		:: goto gone
		:: status == pending -> close(cancelled)
		:: status == paid && ticket == queued -> /* returnKept */
			close(cancelled); ticket = cancelled;
			for (x : 1 .. N) { if :: decided[x] == kept -> back[x] = true :: else fi }
		:: else /* over, or too late */
		fi;
		check()
	}
gone:	skip
}

proctype kitchen() { end: atomic { ticket == queued -> if :: ticket = handedOver :: skip fi } }

/* Another order takes the portion. */
proctype rival() { end: atomic { hold == released && status != paid -> taken = true; check() } }

init {
	atomic { if :: wrong = true :: wrong = false fi;
		run payment(1); run payment(2); run page(); run webhook();
		run sweep(); run cancel(); run kitchen(); run rival() }
	timeout -> /* nothing moves any more */
	d_step {
		for (x : 1 .. N) {
			assert(there[x] == here[x]);                     /* nobody is left not knowing: the sweeps found all there is */
			assert(there[x] != captured || decided[x] != none); /* INV-7: every capture is decided */
			assert(event[x] != received)                     /* INV-39: no event waits */
		}
		assert(status != pending)                            /* INV-18: no order is pending for ever */
	}
}
