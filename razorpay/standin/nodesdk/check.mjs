// Razorpay's own Node SDK as a client of the stand-in: the calls it makes must be answered in its terms and the signatures the
// stand-in makes must pass its validators. Run by nodesdk_test.go with the stand-in's address and keys in the environment; every
// step that passed is one line on standard output.
import assert from "node:assert/strict";
import http from "node:http";
import { createRequire } from "node:module";
import Razorpay from "razorpay";

const require = createRequire(import.meta.url);
const { validatePaymentVerification, validateWebhookSignature } = require("razorpay/dist/utils/razorpay-utils");
const { STANDIN_URL: base, STANDIN_KEY_ID: key_id, STANDIN_KEY_SECRET: key_secret } = process.env;
const secret = "node-webhook-secret";

const rzp = new Razorpay({ key_id, key_secret });
rzp.api.rq.defaults.baseURL = base;

const passed = (step) => console.log("ok " + step);
const control = async (method, path, body) => {
  const res = await fetch(base + path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  assert.equal(res.status, 200, path);
  return res.json();
};

// what the webhooks bring
const arrived = [];
let heard = () => {};
const hooks = http.createServer((req, res) => {
  const parts = [];
  req.on("data", (d) => parts.push(d));
  req.on("end", () => {
    arrived.push({ body: Buffer.concat(parts).toString("utf8"), headers: req.headers });
    res.end();
    heard();
  });
});
await new Promise((done) => hooks.listen(0, "127.0.0.1", done));
await control("PUT", "/standin/webhooks", { webhooks: [{ url: `http://127.0.0.1:${hooks.address().port}/`, secret }] });

const order = await rzp.orders.create({ amount: 45900, currency: "INR", receipt: "node-1", notes: { table: "7" } });
assert.equal(order.status, "created");
assert.equal(order.amount, 45900);
assert.match(order.id, /^order_[A-Za-z0-9]{14}$/);
passed("orders.create");

assert.deepEqual(await rzp.orders.fetch(order.id), order);
passed("orders.fetch");

const list = await rzp.orders.all({ receipt: "node-1", count: 5, from: new Date(Date.now() - 3600e3).toISOString(), to: new Date(Date.now() + 3600e3).toISOString() });
assert.equal(list.count, 1);
assert.equal(list.items[0].id, order.id);
passed("orders.all");

assert.equal((await rzp.orders.edit(order.id, { notes: { table: "8" } })).notes.table, "8");
passed("orders.edit");

const slip = await (await fetch(base + "/v1/payments/create/ajax", {
  method: "POST", body: new URLSearchParams({ key_id, order_id: order.id, method: "card", "card[number]": "4100 2800 0000 1007", otp: "1234" }),
})).json();
assert.equal(slip.razorpay_order_id, order.id);
assert.equal(validatePaymentVerification({ order_id: order.id, payment_id: slip.razorpay_payment_id }, slip.razorpay_signature, key_secret), true);
assert.equal(validatePaymentVerification({ order_id: order.id, payment_id: slip.razorpay_payment_id }, slip.razorpay_signature, "other"), false);
passed("checkout signature");

const payments = await rzp.orders.fetchPayments(order.id);
assert.equal(payments.count, 1);
const payment = await rzp.payments.fetch(slip.razorpay_payment_id, { "expand[]": "card" });
assert.equal(payment.status, "captured");
assert.equal(payment.card.last4, "1007");
assert.equal((await rzp.payments.fetchCardDetails(payment.id)).network, "Visa");
assert.equal((await rzp.payments.all({ count: 3 })).items[0].id, payment.id);
assert.equal((await rzp.orders.all({ authorized: 1, "expand[]": "payments" })).items[0].payments.items[0].id, payment.id);
passed("payments");

const held = await rzp.orders.create({ amount: 20000, currency: "INR", receipt: "node-2", payment: { capture: "manual", capture_options: { manual_expiry_period: 60 } } });
const authorised = await control("POST", "/standin/pay", { order_id: held.id });
assert.equal(authorised.status, "authorized");
assert.equal((await rzp.payments.capture(authorised.id, 20000, "INR")).status, "captured");
await assert.rejects(rzp.payments.capture(authorised.id, 20000, "INR"), (e) => e.statusCode === 400 && /already been captured/.test(e.error.description));
passed("payments.capture");

rzp.api.rq.defaults.headers.common["X-Refund-Idempotency"] = "node-refund-0001";
const refund = await rzp.payments.refund(payment.id, { amount: 900, receipt: "node-r1", speed: "normal" });
assert.equal(refund.amount, 900);
assert.equal((await rzp.payments.refund(payment.id, { amount: 900, receipt: "node-r1", speed: "normal" })).id, refund.id);
await assert.rejects(rzp.payments.refund(payment.id, { amount: 901, receipt: "node-r1", speed: "normal" }), (e) => e.statusCode === 409);
delete rzp.api.rq.defaults.headers.common["X-Refund-Idempotency"];
await assert.rejects(rzp.payments.refund(payment.id, { amount: 900, receipt: "node-r1" }), (e) => /Duplicate receipt/.test(e.error.description));
passed("payments.refund with idempotency");

assert.equal((await rzp.payments.fetchMultipleRefund(payment.id)).count, 1);
assert.equal((await rzp.payments.fetchRefund(payment.id, refund.id)).id, refund.id);
assert.equal((await rzp.refunds.fetch(refund.id)).status, "processed");
assert.equal((await rzp.refunds.all({ count: 1 })).items[0].id, refund.id);
passed("refunds");

assert.equal((await rzp.settlements.all()).entity, "collection");
assert.equal((await rzp.settlements.reports({ year: 2026, month: 8 })).entity, "collection");
assert.equal((await rzp.disputes.all()).count, 0);
passed("settlements and disputes");

await assert.rejects(rzp.orders.fetch("order_00000000000000"), (e) => e.statusCode === 400 && e.error.code === "BAD_REQUEST_ERROR");
await assert.rejects(rzp.orders.create({ amount: 45900, currency: "INR", wishes: "none" }), (e) => e.error.reason === "extra_field_sent");
const stranger = new Razorpay({ key_id, key_secret: "wrong" });
stranger.api.rq.defaults.baseURL = base;
await assert.rejects(stranger.orders.fetch(order.id), (e) => e.statusCode === 401 && e.error.description === "Authentication failed");
passed("errors");

// authorised, captured, paid for both orders, created and processed for the refund
while (arrived.length < 8) await new Promise((done) => (heard = done));
for (const { body, headers } of arrived) {
  assert.equal(validateWebhookSignature(body, headers["x-razorpay-signature"], secret), true);
  assert.equal(Razorpay.validateWebhookSignature(body + " ", headers["x-razorpay-signature"], secret), false);
}
assert.deepEqual(arrived.map((a) => JSON.parse(a.body).event).sort(), ["order.paid", "order.paid", "payment.authorized", "payment.authorized",
  "payment.captured", "payment.captured", "refund.created", "refund.processed"]);
passed("webhook signatures");
hooks.close();
hooks.closeAllConnections();
