/*
 * Money that goes back: SendRefund, recordRefund (payments/refund.go) and RecordRefund, importRefund, succeedRefund, CancelOrder (models/refund.go),
 * for one captured payment of AMOUNT (in halves, so that parts exist), while answers are lost, refunds fail later and people refund outside.
 *
 * Every atomic block is one transaction or one effect at the gateway; between two of them anything may happen, and a process may die.
 * Planted mistakes are the names in #ifdef; scripts/model tries each. docs/model.md explains.
 */
#define AMOUNT 2
#ifndef FAILS
#define FAILS 1   /* how often a refund fails after the gateway had accepted it */
#endif
#ifndef OUTSIDE
#define OUTSIDE 1 /* refunds made in the gateway's dashboard */
#endif
#ifndef REFUSALS
#define REFUSALS 1 /* requests that the gateway will never carry out */
#endif
#ifndef AGAIN
#define AGAIN 1   /* how often a person sends a failed refund again */
#endif
#define TRIES 1   /* maxRefundTries: 3 in the product */
#define R 12      /* rows in refunds, at most */
#define G 5       /* refunds at the gateway, at most */

mtype = { none, pending, paid, cancelled,                    /* the order */
	  kept, refund,                                      /* the decision */
	  auto, cancel, staff, external,                     /* kinds */
	  requested, accepted, failed, void };               /* a refund; accepted is submitted or processed here, pending or processed there */

/* The gateway: refunds of the one payment. */
byte made;
mtype there[G + 1] = none;
byte amountThere[G + 1];
byte receipt[G + 1];        /* our row, 0 for one made outside */
byte flying;                /* a row whose request its sender gave up, that has not arrived yet */
bool refuses[R + 1];        /* it will never carry this request out: a dispute, too old, … */
byte fails = FAILS, outside = OUTSIDE, refusals = REFUSALS, again = AGAIN;

/* The database. */
mtype status = pending;
mtype decided = none;
byte reserved;              /* payments.refund_reserved_paise */
byte rows;
mtype kind[R + 1] = none;
mtype state[R + 1] = none;
byte amount[R + 1];
byte retryOf[R + 1];
byte id[R + 1];             /* razorpay_refund_id, 0 until known */
bool task[R + 1];           /* put before a person */
mtype heard[G + 1] = none;  /* of the gateway's refunds: what was recorded last (not stored: it says whether there is news) */

byte x, y, z, n, m, r, e; mtype to; /* scratch: 0 between two steps */

#define RANK(s) (s == requested -> 0 : (s == accepted -> 1 : 2))
#define LIVE(k) (state[k] == requested || state[k] == accepted)

inline sumThere(n) { n = 0; for (x : 1 .. G) { n = n + (there[x] == accepted -> amountThere[x] : 0) } x = 0 }

inline first(k, f) { f = k; do :: f != 0 && retryOf[f] != 0 -> f = retryOf[f] :: else -> break od }

/* A row that failed and that nothing has replaced is still owed. */
inline replaced(k, yes) { yes = 0; for (y : 1 .. rows) { if :: retryOf[y] == k -> yes = 1 :: else fi } y = 0 }

inline check() { /* true at every commit */
	n = 0; m = 0; e = 0;
	for (x : 1 .. rows) {
		replaced(x, r);
		n = n + (LIVE(x) || (state[x] == failed && r == 0) -> amount[x] : 0);
		m = m + (LIVE(x) -> amount[x] : 0);
		e = e + (kind[x] == auto && retryOf[x] == 0 -> 1 : 0);
		assert(state[x] != accepted || id[x] != 0);         /* INV-26: what the gateway accepted has its id */
		for (y : 1 .. rows) { assert(x == y || id[x] == 0 || id[x] != id[y]) } /* INV-26: and nobody else's */
		y = 0
	}
	assert(decided == none || n == reserved);                   /* INV-5: what is reserved is what refunds sum to */
	assert(m <= AMOUNT && reserved <= AMOUNT);                  /* INV-5: never more than was captured */
	assert(decided != refund || reserved == AMOUNT);            /* INV-4: all of what is not kept goes back */
	assert(!(decided == kept && status == cancelled) || reserved == AMOUNT); /* INV-13: nor of what was cancelled is anything kept */
	assert(e <= 1);                                             /* INV-25: one automatic chain */
	x = 0; z = 0; n = 0; m = 0; r = 0; e = 0
}

/* createRefund. after is the one it asks for again, 0 when it is a first one. */
inline ask(how, much, after) {
	assert(rows < R);
	for (z : 1 .. rows) { assert(after == 0 || retryOf[z] != after) } /* INV-28: a failed refund has one successor */
	rows++; kind[rows] = how; amount[rows] = much; retryOf[rows] = after; state[rows] = requested
}

inline tries(f, t) { t = 0; y = f; do :: y != 0 -> t++; y = retryOf[y] :: else -> break od }

/* succeedRefund: a failed one is asked for again, TRIES times, where its money is owed; then a person looks. */
inline succeed(f) {
	tries(f, n);
	if
	:: n > TRIES || (kind[f] == external && decided == kept && status != cancelled) -> task[f] = true
	:: else -> to = (kind[f] != external -> kind[f] : (decided == kept -> cancel : auto));
#ifdef RETRY_IS_ANOTHER_REFUND
		ask(to, amount[f], 0)
#else
		ask(to, amount[f], f)
#endif
	fi
}

/*
 * importRefund: one made outside takes the place of a lost one of ours, or what is free, or else of several lost ones and of what we have
 * not sent yet. An old answer
 * may name one that failed since, with nothing left to put it in: then payment_complete refuses the commit, and r stays 0.
 */
inline import(g) {
	r = 0;
	for (x : 1 .. rows) { /* replaceLost: the oldest */
		replaced(x, n);
		if :: r == 0 && state[x] == failed && n == 0 && amount[x] >= amountThere[g] -> r = x :: else fi
	}
	if
	:: r != 0 ->
		n = amount[r] - amountThere[g]; to = kind[r];
		if
		:: n == 0 -> ask(external, amountThere[g], r); y = rows
#ifdef REST_IS_A_RETRY
		:: n > 0 -> ask(external, amountThere[g], r); y = rows; ask(to, n, y)
#else
		:: n > 0 -> ask(external, amountThere[g], 0); y = rows; ask(to, n, r)
#endif
		fi;
		r = y
	:: else ->
		n = AMOUNT - reserved; m = n;
		for (x : 1 .. rows) {
			replaced(x, e);
#ifdef LOST_STAND_FOR_ONE
			m = m + (state[x] == requested -> amount[x] : 0)
#else
			m = m + (state[x] == requested || (state[x] == failed && e == 0) -> amount[x] : 0)
#endif
		}
		e = 0;
		if
		:: m < amountThere[g] ->
			e = 0;
			for (x : 1 .. rows) { e = e + (state[x] == accepted && there[id[x]] == failed -> 1 : 0) }
			assert(there[g] != accepted || e > 0); /* INV-6: what was given back finds its place, unless a failure is still to be heard of */
			goto refused
		:: m >= amountThere[g]
		fi;
		if
#ifndef OUTSIDE_LEAVES_OURS
		:: n < amountThere[g] ->
#ifndef LOST_STAND_FOR_ONE
			m = amountThere[g] - n;
			for (x : 1 .. rows) { /* reviveLost: asked for again, to be taken back */
				replaced(x, e);
				if :: state[x] == failed && e == 0 && m > 0 -> ask(kind[x], amount[x], x); m = (m > amount[x] -> m - amount[x] : 0) :: else fi
			}
			e = 0;
#endif
			/* voidRequested: the newest first, the rest of it asked for again */
			m = 0; e = amountThere[g] - n;
			for (x : 1 .. rows) {
				y = rows + 1 - x;
				if
				:: state[y] == requested && m < e ->
					state[y] = void; m = m + amount[y];
					if :: m > e -> to = kind[y]; n = m - e; ask(to, n, y); m = e :: else fi
				:: else
				fi
			}
			reserved = reserved - m; m = 0; e = 0; y = 0
#endif
		:: else
		fi;
		reserved = (reserved + amountThere[g] < AMOUNT -> reserved + amountThere[g] : AMOUNT);
		ask(external, amountThere[g], 0); r = rows
	fi
}

/* Ended without the gateway's word: void, or refused. If the gateway made it all the same, it counts like one made outside. */
#ifdef WHAT_IS_OVER_STAYS_OVER
#define OVER(k) false
#else
#define OVER(k) (state[k] == void || state[k] == failed)
#endif

/* RecordRefund, under the order's and the payment's lock: what the gateway said about g when it was asked. */
inline record(g, said) {
	d_step {
		r = 0;
		for (x : 1 .. rows) { if :: id[x] == g || (id[x] == 0 && receipt[g] == x && !OVER(x)) -> r = x :: else fi }
		x = 0;
#ifndef OUTSIDE_IS_IGNORED
		if :: r == 0 && said != failed -> import(g) :: else fi;
#endif
		x = 0; n = 0;
		if
		:: r != 0 ->
			if
#ifdef REFUND_MAY_GO_BACK
			:: said != state[r] ->
#else
			:: RANK(said) > RANK(state[r]) ->
#endif
				state[r] = said; id[r] = g;
#ifndef FAILED_IS_THE_END
				if :: said == failed -> succeed(r) :: else fi
#else
				skip
#endif
			:: else
			fi
		:: else
		fi;
		heard[g] = said;
refused:	x = 0; y = 0; z = 0; n = 0; m = 0; r = 0; to = none;
		check()
	}
}

/* requestShare: reserve, then the row and its job. */
inline request(k, a) {
#ifdef REFUND_WITHOUT_RESERVATION
	if :: decided == kept -> ask(k, a, 0) :: else fi
#else
	if :: decided == kept && reserved + a <= AMOUNT -> reserved = reserved + a; ask(k, a, 0) :: else fi
#endif
}

/* The gateway makes the refund a request asks for: the same receipt and key again is the same refund, more than is left is refused. */
inline give(k, g) {
	d_step {
		g = 0;
#ifndef RETRY_WITH_A_NEW_ID
		for (x : 1 .. made) { if :: receipt[x] == k -> g = x :: else fi }
#endif
		sumThere(n);
		if
		:: g == 0 && n + amount[k] <= AMOUNT && !refuses[k] ->
			made++; g = made; there[g] = accepted; amountThere[g] = amount[k]; receipt[g] = k;
			first(k, m);
			for (x : 1 .. made - 1) {
				first(receipt[x], n);
				assert(there[x] != accepted || receipt[x] == 0 || n != m) /* no money twice: one request, however often it is asked for again, gives back once */
			}
		:: else
		fi;
		n = 0; m = 0; x = 0
	}
}

#define REQUESTED(k) (state[k] == requested)
#define FAILED(k) (state[k] == failed)
#define ANY(P) (P(1) || P(2) || P(3) || P(4) || P(5) || P(6) || P(7) || P(8) || P(9) || P(10) || P(11) || P(12))
#define NEWS(g) (there[g] != heard[g])
#define KNOWN(k) (receipt[1] == k || receipt[2] == k || receipt[3] == k || receipt[4] == k || receipt[5] == k)
#define MAYFAIL(g) atomic { fails > 0 && there[g] == accepted -> fails--; there[g] = failed }

/* recordPayment and adoptRefund: list the payment's refunds, then write down each: what failed first, then ours, then what was made outside. */
proctype teller() {
	mtype said[G + 1] = none;
	mtype now;
	byte g;
gone:
end:	do
	:: atomic { decided == none || NEWS(1) || NEWS(2) || NEWS(3) || NEWS(4) || NEWS(5) ->
		d_step { for (x : 1 .. G) { said[x] = there[x] } x = 0; sumThere(n) };
		if
		:: decided == none -> /* recordPayment decides: KeepPayment or ReturnPayment */
			if :: status == pending && n == 0 -> decided = kept; status = paid
			   :: else -> decided = refund; reserved = AMOUNT; ask(auto, AMOUNT, 0)
			fi
		:: else
		fi;
		n = 0
	   }
	   if
	   :: skip
	   :: atomic { d_step { for (x : 1 .. G) { said[x] = none } x = 0 }; goto gone }
	   fi;
	   do
	   :: atomic { said[1] != none || said[2] != none || said[3] != none || said[4] != none || said[5] != none ->
		d_step {
			g = 0;
			for (x : 1 .. G) { if :: said[x] != none && receipt[x] == 0 -> g = x :: else fi }
			for (x : 1 .. G) { if :: said[x] != none && receipt[x] != 0 -> g = x :: else fi }
			for (x : 1 .. G) { if :: said[x] == failed -> g = x :: else fi }
			x = 0; now = said[g]; said[g] = none
		}
		record(g, now); g = 0; now = none }
	   :: else -> break
	   od
	od
}

/* SendRefund. Its lease keeps two senders of a row apart for a minute, which proves nothing: flying is also the sender that slept. */
proctype sender() {
	byte k, g;
	mtype said;
gone:
end:	do
	:: atomic { ANY(REQUESTED) ->
		/* ClaimRefund, then POST /v1/payments/:id/refund: the row's id is its receipt and its idempotency key */
		select(k : 1 .. rows);
		if :: REQUESTED(k) :: else -> k = 0; goto gone fi;
		if
		:: give(k, g); /* answered; or refused, for there is not so much left: then adoptRefund has something to find */
			if
			:: g != 0 -> said = there[g]
			:: else ->
				n = (NEWS(1) || NEWS(2) || NEWS(3) || NEWS(4) || NEWS(5) -> 1 : 0);
				assert(n == 1); /* INV-4: what cannot be given is given already, and that is still to be heard */
				n = 0; k = 0; goto gone
			fi
		:: give(k, g); k = 0; g = 0; goto gone                  /* done, the answer lost */
		:: flying == 0 -> flying = k; k = 0; goto gone          /* given up, done later if ever */
#ifdef NOT_LISTED_IS_NOT_MADE
		:: flying == k && !KNOWN(k) -> state[k] = failed; d_step { succeed(k); check(); y = 0; z = 0; n = 0; to = none }; k = 0; goto gone
#endif
		:: refusals > 0 && !KNOWN(k) -> refusals--; refuses[k] = true; /* refused for good: RefuseRefund */
			state[k] = failed; task[k] = true; k = 0; d_step { check() }; goto gone
		fi; k = 0 }
	   if :: atomic { record(g, said); g = 0; said = none } :: atomic { g = 0; said = none } /* it died before saving */ fi
	od
}

/* Requests that their sender gave up arrive, or never; an accepted refund may fail. */
proctype gateway() {
	byte g;
end:	do
	:: atomic { flying != 0 -> if :: give(flying, g); g = 0 :: skip fi; flying = 0 }
	:: MAYFAIL(1)
	:: MAYFAIL(2)
	:: MAYFAIL(3)
	:: MAYFAIL(4)
	:: MAYFAIL(5)
	:: fails > 0 -> fails--
	od
}

/* A person at the gateway's dashboard. */
proctype dashboard() {
	do
	:: atomic { outside > 0 -> d_step { sumThere(n) };
		if
		:: n < AMOUNT -> made++; there[made] = accepted; amountThere[made] = 1
		:: n == 0 -> made++; there[made] = accepted; amountThere[made] = 2
		:: skip
		fi;
		outside--; n = 0 }
	:: outside == 0 -> break
	od
}

/* Staff give a part of a kept payment back; the order is cancelled before or after it was paid (CancelOrder). */
proctype staffer() {
	atomic { if :: decided == kept -> d_step { request(staff, 1); check() } :: skip fi }
}
/* A person sends a failed refund again, whether it waits for one or not (RetryRefund). */
proctype person() {
	byte k;
end:	atomic { again > 0 && ANY(FAILED) ->
		again--; select(k : 1 .. rows);
		d_step {
			replaced(k, n);
#ifdef SENT_AGAIN_UNSEEN
			n = 0;
#endif
			if :: state[k] == failed && n == 0 -> ask(kind[k], amount[k], k) :: else fi;
			n = 0; k = 0; check()
		} }
}
proctype canceller() {
	if
	:: atomic { status == pending -> status = cancelled }
	:: atomic { status == paid -> d_step {
#ifndef CANCEL_FORGETS_WHAT_FAILED
		for (x : 1 .. rows) { /* retryLost */
			replaced(x, n);
			if :: state[x] == failed && n == 0 -> ask(cancel, amount[x], x) :: else fi
		}
#endif
		if :: reserved < AMOUNT -> n = AMOUNT - reserved; request(cancel, n) :: else fi;
		status = cancelled; x = 0; n = 0; check() } }
	:: skip
	fi
}

init {
	atomic { run teller(); run sender(); run gateway(); run dashboard(); run staffer(); run canceller(); run person() }
	timeout -> /* nothing moves any more */
	d_step {
		check();
		for (x : 1 .. rows) {
			assert(state[x] != requested);                   /* INV-4: nothing waits */
			replaced(x, n);
			assert(state[x] != failed || n == 1 || task[x]); /* INV-28: a failed one has a successor or is before a person … */
			tries(x, m);
			n = n + (m > TRIES || refuses[x] || (decided == kept && status == paid) -> 1 : 0);
			assert(state[x] != failed || n > 0)              /* INV-28: … and money that is owed is not given up untried */
		}
		sumThere(n); m = 0;
		for (x : 1 .. rows) { m = m + (state[x] == accepted -> amount[x] : 0) }
		assert(n == m)                                           /* INV-6: the gateway gave back what the rows say */
	}
}
