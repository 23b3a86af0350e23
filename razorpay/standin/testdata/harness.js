// What a shop's page would do with Checkout, and what a customer would click: one function per scenario of checkout_e2e_test.go.
// A scenario returns what it saw; the callback ones never return, since the page is left.
const { order, key, scenario } = document.body.dataset;
const seen = { handler: [], failed: [], dismissed: 0, violations: [] };
addEventListener("securitypolicyviolation", (e) => seen.violations.push(e.violatedDirective + " " + e.blockedURI));

const at = (id) => document.querySelector(`[data-testid="standin-${id}"]`);
const until = async (what, f) => {
  for (let i = 0; i < 1500; i++) {
    const v = f();
    if (v) return v;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error("waited in vain for " + what);
};
const ready = (id) => until(id, () => at(id) && !at(id).disabled && at(id));
const press = async (id) => (await ready(id)).click();
const ask = (what) => fetch(`/ask?what=${what}&order=${order}`, { method: "POST" });

function checkout(options = {}) {
  const rzp = new Razorpay({
    key, order_id: order, amount: "45900", currency: "INR", name: "Kesar Kitchen", description: "Order 7",
    prefill: { name: "Guest", email: "guest@example.test", contact: "+919999999999" }, notes: { a: "b" }, theme: { color: "#7a2e1f" },
    handler: (r) => seen.handler.push(r), ...options, modal: { ondismiss: () => seen.dismissed++, ...options.modal },
  });
  rzp.on("payment.failed", (r) => seen.failed.push(r));
  rzp.open();
  return rzp;
}

const scenarios = {
  async succeed() {
    checkout();
    const paint = await until("the amount", () => at("amount")?.textContent === "₹459.00" && {
      open: at("sheet").open, modal: at("sheet").matches(":modal"), header: getComputedStyle(at("sheet").querySelector("header")).backgroundColor,
      title: document.getElementById(at("sheet").getAttribute("aria-labelledby")).textContent, inside: at("sheet").contains(document.activeElement),
    });
    await press("succeed");
    await until("handler", () => seen.handler.length);
    return { ...paint, left: !!at("sheet") };
  },
  async "fail then succeed"() {
    checkout();
    await press("fail");
    await until("payment.failed", () => seen.failed.length);
    const stays = at("sheet").open, error = at("error").textContent;
    await press("succeed");
    await until("handler", () => seen.handler.length);
    return { stays, error };
  },
  async "upi test ids"() {
    checkout();
    await ready("pay-upi");
    at("vpa").value = "failure@razorpay";
    await press("pay-upi");
    await until("payment.failed", () => seen.failed.length);
    at("vpa").value = "success@razorpay";
    await press("pay-upi");
    await until("handler", () => seen.handler.length);
  },
  async "card and password"() {
    checkout({ prefill: { method: "card" } });
    await press("pay-card");
    (await ready("otp")).value = "12";
    await press("otp-submit");
    await until("payment.failed", () => seen.failed.length);
    await press("pay-card");
    (await ready("otp")).value = "0123";
    await press("otp-submit");
    await until("handler", () => seen.handler.length);
  },
  async netbanking() {
    checkout();
    await press("tab-netbanking");
    await press("pay-netbanking");
    await press("bank-success");
    await until("handler", () => seen.handler.length);
  },
  async "pending then close"() {
    checkout();
    await press("pending");
    await until("waiting", () => at("status").textContent.startsWith("Waiting"));
    await press("close");
    await until("dismissal", () => seen.dismissed);
  },
  async "pending then the bank says yes"() {
    checkout();
    await press("pending");
    await until("waiting", () => at("status").textContent.startsWith("Waiting"));
    await ask("succeed");
    await until("handler", () => seen.handler.length);
  },
  async "pending then succeed by hand"() {
    checkout();
    await press("pending");
    await until("waiting", () => at("status").textContent.startsWith("Waiting"));
    await press("succeed");
    await until("handler", () => seen.handler.length);
  },
  async "succeed late"() {
    checkout();
    await press("late");
    await until("payment.failed", () => seen.failed.length);
    await press("close");
    await until("dismissal", () => seen.dismissed);
  },
  async "confirm close"() {
    checkout({ modal: { confirm_close: true } });
    await press("close");
    await press("stay");
    const stayed = seen.dismissed === 0 && at("sheet").open;
    await press("close");
    await press("leave");
    await until("dismissal", () => seen.dismissed);
    return { stayed };
  },
  async escape() {
    const escape = () => at("sheet").dispatchEvent(new Event("cancel", { cancelable: true }));
    const rzp = checkout({ modal: { escape: false } });
    await ready("succeed");
    escape();
    const stayed = seen.dismissed === 0 && at("sheet").open;
    rzp.close();
    await until("closing", () => seen.dismissed === 1);
    checkout();
    await ready("succeed");
    escape();
    await until("dismissal", () => seen.dismissed === 2);
    return { stayed };
  },
  async timeout() {
    checkout({ timeout: 1 });
    await until("dismissal", () => seen.dismissed);
  },
  async "no retry"() {
    checkout({ retry: { enabled: false } });
    await press("fail");
    await until("dismissal", () => seen.dismissed);
    return { left: !!at("sheet") };
  },
  async "opened twice, closed, opened again"() {
    const rzp = checkout();
    rzp.open();
    const sheets = document.querySelectorAll("[data-testid=standin-sheet]").length;
    rzp.close();
    rzp.open();
    await press("succeed");
    await until("handler", () => seen.handler.length);
    return { sheets };
  },
  async "wrong key"() {
    checkout({ key: "rzp_test_OtherAccount01" });
    const error = (await until("complaint", () => !at("error").hidden && at("error"))).textContent;
    return { error, disabled: at("succeed").disabled };
  },
  async "bad options"() {
    const thrown = [];
    for (const options of [undefined, {}, { key }, { key, amount: 99 }]) {
      try {
        new Razorpay(options);
        thrown.push("");
      } catch (e) {
        thrown.push(e.message);
      }
    }
    return { thrown };
  },
  async "callback by redirect"() {
    checkout({ callback_url: location.origin + "/callback?order=tok", redirect: true });
    await press("succeed");
    await new Promise(() => {});
  },
  async "callback of a failure"() {
    checkout({ callback_url: location.origin + "/callback?order=tok", redirect: true });
    await press("fail");
    await new Promise(() => {});
  },
  async "callback without handler"() {
    checkout({ callback_url: location.origin + "/callback?order=tok", handler: undefined });
    await press("fail");
    await until("payment.failed", () => seen.failed.length);
    await press("succeed");
    await new Promise(() => {});
  },
  async "callback beside a handler"() {
    checkout({ callback_url: location.origin + "/callback?order=tok" });
    await press("succeed");
    await until("handler", () => seen.handler.length);
  },
};

let extra, error;
try {
  extra = await scenarios[scenario]();
} catch (e) {
  error = String(e);
}
await fetch("/report", { method: "POST", body: JSON.stringify({ ...seen, ...extra, error_thrown: error }) });
location.assign("/next");
