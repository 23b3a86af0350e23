/*
 * One gateway order for one order of ours: models/claim.go and OpenGatewayOrder, ResolveClaims (payments/checkout.go, reconcile.go).
 *
 * Every atomic block is one database transaction or one effect at the gateway. Between two of them anything may happen, and a process may die
 * (crash): what it knew is lost, what it wrote stays. No step waits for a time, so every delay is included: a claim may expire while its holder
 * only sleeps, a call may take effect long after its caller gave up, a list may lag.
 *
 * Planted mistakes are the names in #ifdef; scripts/model tries each. docs/model.md explains.
 */
#ifndef PRESSES
#define PRESSES 4 /* how often Pay is pressed, on both browsers together */
#endif
#define N 4 /* each press creates at most one gateway order */

mtype = { none, pending, paid, cancelled, expired, /* an order's state */
	  open, unknown, closed,                   /* a claim's; closed is attached, rejected or released */
	  current, superseded,                     /* a gateway order's row */
	  kept, refund };                          /* what is decided about money */

/* The database. */
mtype status = pending;
bool holdOver;         /* hold_expires_at has passed */
byte claims;           /* rows in gateway_claims; the number is the token */
mtype claim[N + 1] = none;
mtype row[N + 1] = none; /* gateway_orders, by the gateway's id */
mtype decided[N + 1] = none;

/* The gateway. */
byte made;             /* gateway orders 1..made exist, all with the same receipt */
byte flying;           /* create calls given up by their caller that have not taken effect yet */
bool unique;           /* the account refuses a receipt it has seen (setting UniqueReceipt) */
bool money[N + 1];     /* a payment of it was captured */

#ifdef TAIL_LOST
bool lost;             /* the database came back without its last commit, an attach, though the browser has the id and paid */
#endif

/* The browsers. */
byte presses = PRESSES;
bool handed[N + 1];    /* some browser was given this id: money may come for it */

byte x, n, m, live; /* scratch: 0 between two steps */

#define LIVE(k) (claim[k] == open || claim[k] == unknown)

inline look(found) { /* the current gateway order, 0 if there is none */
	d_step {
		found = 0;
		for (x : 1 .. N) { if :: row[x] == current -> found = x :: else fi }
		x = 0
	}
}

inline countLive(n) {
	d_step {
		n = 0;
		for (x : 1 .. N) { if :: LIVE(x) -> n++ :: else fi }
		x = 0
	}
}

inline check() { d_step { /* true at every commit */
	n = 0; m = 0;
	for (x : 1 .. N) {
		if :: row[x] == current -> n++ :: else fi;
#ifndef TAIL_LOST
		if :: handed[x] -> m++; assert(row[x] == current) /* INV-21: a browser gets only what attach returned */ :: else fi
#endif
	}
	assert(n <= 1); /* INV-21: one current gateway order */
	assert(m <= 1); /* INV-21: one id that can be paid, whatever else was made */
	for (x : 1 .. N) { if :: LIVE(x) -> live++ :: else fi }
	assert(live <= 1); /* INV-22: one live claim */
	n = 0; m = 0; live = 0; x = 0
} }

/* AttachGatewayOrder: the first to attach wins, and everybody gets the winner. by is the caller's claim, 0 when the gateway order was found. */
inline attach(id, by, got) {
#ifdef ATTACH_WITHOUT_LOCK
	look(got);
	atomic {
		if :: row[id] == none && status == pending && got == 0 -> row[id] = current
		   :: row[id] == none && !(status == pending && got == 0) -> row[id] = superseded
		   :: else fi;
#else
	atomic {
		look(got);
		if
		:: row[id] == none ->
			if
#ifdef CURRENT_AFTER_THE_END
			:: got == 0 ->
#else
			:: got == 0 && status == pending ->
#endif
				row[id] = current;
				assert(status == pending) /* only an order that can still be paid gets one to pay on */
#ifdef LAST_TO_ATTACH_WINS
			:: got != 0 && status == pending -> row[got] = superseded; row[id] = current
#endif
			:: else -> row[id] = superseded
			fi
		:: else
		fi;
#endif
		look(got);
		d_step { for (x : 1 .. N) { if :: LIVE(x) && (x == by || got != 0) -> claim[x] = closed :: else fi } }
		check()
	}
}

/* HandOut, and the answer to the browser. */
inline handOut(id) { atomic { handed[id] = true; check() } }

/* The gateway carries out a create: POST /v1/orders. id is 0 when it refuses the receipt as used. */
inline create(id) {
	id = (unique && made > 0 -> 0 : made + 1);
	made = (id > 0 -> id : made)
}

inline crash() { if :: skip :: goto gone fi }

/* POST /pay/{token} → OpenGatewayOrder. Two of them run; each serves press after press, so at most two are at work at once. */
proctype browser() {
	byte token, id, got, seen;
press:
	token = 0; id = 0; got = 0; seen = 0;
end:	atomic { presses > 0 -> presses-- }
	/* ClaimGatewayOrder: the conditions are judged by one INSERT under the order's lock. */
#ifdef CLAIM_WITHOUT_LOCK
	atomic { look(got); countLive(n) }
	atomic {
		if
		:: got != 0
		:: got == 0 && status == pending && !holdOver && n == 0 -> claims++; token = claims; claim[token] = open
		:: else -> goto press
		fi;
		n = 0; check()
	}
#else
	atomic {
		look(got); countLive(n);
		if
#ifdef EACH_PRESS_ITS_OWN
		:: status == pending && !holdOver && n == 0 -> claims++; token = claims; claim[token] = open;
			if :: got != 0 -> row[got] = superseded; got = 0 :: else fi
#else
		:: got != 0 /* pressed before: the same again */
		:: got == 0 && status == pending && !holdOver && n == 0 -> claims++; token = claims; claim[token] = open
#endif
		:: else -> goto press /* ErrPreparing, ErrBadMove, ErrTooLate */
		fi;
		n = 0; check()
	}
#endif
	crash(); /* claim.after_commit */
	if :: token == 0 -> goto give :: else fi;

	/* gateway.CreateOrder: outside any transaction, 8 s. */
	if
	:: atomic { create(id); if :: id == 0 -> goto duplicate :: else fi } /* done and answered */
	:: atomic { create(id); id = 0 } -> goto doubt                       /* done, the answer lost */
	:: atomic { flying++ } -> goto doubt                                 /* given up, done later if ever */
	:: goto doubt                                                        /* never arrived */
	:: goto refused                                                      /* 400, 401: rejected; 429: released */
	fi;
	crash(); /* create.answered */
#ifdef HAND_OUT_BEFORE_ATTACH
	handOut(id);
	crash();
#endif
	attach(id, token, got);
	crash(); /* attach.after_commit */
#ifdef HAND_OUT_MY_OWN
	got = id;
#endif
	if :: got == 0 -> goto press :: else fi; /* the order closed meanwhile: ErrBadMove */
give:
	handOut(got);
	goto press;

duplicate: /* the receipt is used: lookUpReceipt. A list may lag: it shows the oldest few. */
	atomic { select(seen : 0 .. made); id = 1 };
	do
	:: id <= seen -> attach(id, 0, got); crash(); id++
	:: id > seen -> break
	od;
	if :: got != 0 -> goto give :: else fi;
doubt: /* DoubtClaim: only a claim that is still open; the resolver looks for it. */
	crash();
	atomic { if :: claim[token] == open -> claim[token] = unknown :: else fi };
	goto press;
refused: /* CloseClaim */
	crash();
	atomic { if :: claim[token] == open -> claim[token] = closed :: else fi };
	goto press;
gone: /* the process died; the customer may press again */
	atomic { token = 0; id = 0; got = 0; seen = 0 };
	goto press
}

/* A create call that its caller gave up takes effect, or is lost for good. */
proctype late() {
	byte id;
end:	do
	:: atomic { flying > 0 -> flying--; if :: create(id) :: skip fi; id = 0 }
	od
}

/* ResolveClaims, by the sweep. Due are unknown claims and open ones that expired: their process is dead or slow. */
#ifdef CLAIM_NEVER_EXPIRES
#define DUE(k) (claim[k] == unknown)
#else
#define DUE(k) (LIVE(k))
#endif
proctype resolver() {
	byte token, id, got, seen;
gone:
end:	do
	:: atomic { DUE(1) || DUE(2) || DUE(3) || DUE(4) -> /* ClaimDueLooks */
		token = 0; id = 0; got = 0; seen = 0;
		d_step { for (x : 1 .. N) { if :: DUE(x) -> token = x :: else fi } x = 0 };
		claim[token] = unknown
	   }
	   crash();
	   atomic { select(seen : 0 .. made); id = 1 } /* lookUpReceipt: ListOrdersByReceipt, which may lag */
	   do
	   :: id <= seen -> attach(id, 0, got); crash(); id++
	   :: id > seen -> break
	   od;
	   if
	   :: got == 0 -> atomic { /* MissClaim: another look, or after the last the claim is let go */
		if :: claim[token] == unknown -> if :: skip :: claim[token] = closed fi :: else fi }
	   :: else
	   fi
	od
}

/* The customer pays whatever a browser shows; recordPayment decides (record.pml says how). */
proctype customer(byte id) {
	byte got;
end:	do
	:: atomic { handed[id] && !money[id] -> money[id] = true }
	:: atomic { money[id] && decided[id] == none && row[id] != none ->
		if :: status == pending -> status = paid; decided[id] = kept
		   :: else -> decided[id] = refund
		fi;
		check() }
#ifndef UNKNOWN_IS_NOT_OURS
	:: money[id] && row[id] == none -> attach(id, 0, got); got = 0 /* adopt: by receipt and notes */
#endif
	od
}

/* The order's other ends: CancelOrder, supersede; LapseOrder once the hold is over. */
proctype rivals() {
end:	do
	:: atomic { status == pending -> status = cancelled }
	:: atomic { !holdOver -> holdOver = true }
	:: atomic { holdOver && status == pending -> status = expired }
#ifdef TAIL_LOST
	:: atomic { !lost && money[1] && row[1] == current && status == pending -> row[1] = none; claim[claims] = open; lost = true }
#endif
	od
}

init {
	atomic { if :: unique = true :: unique = false fi;
		run browser(); run browser(); run late(); run resolver(); run rivals();
		run customer(1); run customer(2); run customer(3); run customer(4) }
	timeout -> /* nothing moves any more: no press, no call, no sweep has anything to do */
	d_step {
		countLive(n); assert(n == 0); /* INV-22: nobody is left "preparing" */
		n = 0;
		for (x : 1 .. N) {
			assert(!money[x] || decided[x] != none); /* INV-7: money that came is known and decided */
			if :: decided[x] == kept -> n++ :: else fi
		}
		assert((status == paid) == (n == 1)) /* INV-1, INV-11: paid means that one payment is kept */
	}
}
