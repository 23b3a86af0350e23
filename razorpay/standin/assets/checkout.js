// The stand-in's Checkout: the contract of the real script (Docs-Aug, "Integration Steps") with a sheet of its own. The sheet is
// a dialog in the page, drawn without inline handlers or inline styles, so that a strict policy lets it through: the page must
// allow this origin for script-src and connect-src. Not imitated: handleback, animation, allow_rotation, send_sms_hash,
// remember_customer, which change nothing a shop can observe on a desktop.
(() => {
  "use strict";
  const base = new URL(document.currentScript.src).origin;
  const inApp = /FBAN|FBAV|Instagram|Line\/|; wv\)/.test(navigator.userAgent);

  const css = `
    .standin-sheet { all: revert; position: fixed; inset: 0; margin: auto; padding: 0; border: 0; border-radius: 12px; width: min(26rem, calc(100vw - 1rem));
      max-height: calc(100dvh - 1rem); overflow: auto; background: #fff; color: #1d2430; font: 400 1rem/1.4 system-ui, sans-serif; color-scheme: light;
      box-shadow: 0 20px 60px rgb(0 0 0 / .35); text-align: left }
    .standin-sheet::backdrop { background: var(--standin-backdrop, rgb(0 0 0 / .6)) }
    .standin-sheet [hidden] { display: none }
    .standin-sheet :is(h2, p, label, form, fieldset, ul) { margin: 0; padding: 0; border: 0; font: inherit; color: inherit }
    .standin-sheet header { display: flex; gap: .75rem; align-items: center; padding: 1rem; background: var(--standin-theme); color: var(--standin-on-theme) }
    .standin-sheet header img { width: 2.5rem; height: 2.5rem; object-fit: contain; border-radius: 6px; background: #fff }
    .standin-sheet header div { flex: 1; min-width: 0; overflow-wrap: anywhere }
    .standin-sheet h2 { font-weight: 650; font-size: 1.1rem }
    .standin-sheet .standin-amount { font-weight: 650; font-variant-numeric: tabular-nums; white-space: nowrap }
    .standin-sheet .standin-body { padding: 1rem; display: grid; gap: .9rem }
    .standin-sheet button { all: revert; box-sizing: border-box; min-height: 44px; padding: .4rem .9rem; border: 1px solid #5b6675; border-radius: 8px; background: #fff;
      color: #1d2430; font: inherit; font-weight: 550; cursor: pointer }
    .standin-sheet button:disabled { opacity: .55; cursor: progress }
    .standin-sheet :is(button, input, select):focus-visible { outline: 3px solid #0b5cad; outline-offset: 2px }
    .standin-sheet header button { min-width: 44px; padding: 0; border-color: currentColor; background: transparent; color: inherit; font-size: 1.25rem }
    .standin-sheet header button:focus-visible { outline-color: currentColor }
    .standin-sheet .standin-main { background: var(--standin-theme); border-color: var(--standin-theme); color: var(--standin-on-theme); width: 100% }
    .standin-sheet .standin-tabs { display: flex; gap: .25rem; border-bottom: 1px solid #c3cad4 }
    .standin-sheet .standin-tabs button { flex: 1; border: 0; border-bottom: 3px solid transparent; border-radius: 0 }
    .standin-sheet .standin-tabs [aria-selected=true] { border-bottom-color: #1d2430; font-weight: 650 }
    .standin-sheet form { display: grid; gap: .75rem }
    .standin-sheet label { display: grid; gap: .25rem; font-weight: 550 }
    .standin-sheet :is(input, select) { all: revert; box-sizing: border-box; width: 100%; min-height: 44px; padding: .4rem .6rem; border: 1px solid #5b6675;
      border-radius: 8px; font: inherit; font-weight: 400; background: #fff; color: #1d2430 }
    .standin-sheet .standin-two { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem }
    .standin-sheet .standin-error { padding: .6rem .75rem; border-left: 4px solid #b3261e; background: #fdecea; color: #7a1410 }
    .standin-sheet .standin-note { color: #4a5463; font-size: .9rem }
    .standin-sheet .standin-bank { padding: .9rem 1rem 1rem; background: #eef1f5; border-top: 1px solid #c3cad4 }
    .standin-sheet .standin-bank div { display: grid; grid-template-columns: 1fr 1fr; gap: .5rem; margin-top: .5rem }
  `;
  let styled = false;
  function style() {
    if (styled) return;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    styled = true;
  }

  // h makes an element: attributes, on… listeners, text and children. Text never becomes markup.
  function h(tag, attributes, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
      else if (value === true) e.setAttribute(name, "");
      else if (value !== false && value != null) e.setAttribute(name, value);
    }
    e.append(...children.filter((c) => c != null));
    return e;
  }

  // money writes paise the Indian way.
  function money(paise, currency) {
    const digits = String(Math.trunc(paise / 100)), small = String(paise % 100).padStart(2, "0");
    const head = digits.slice(0, -3), tail = digits.slice(-3);
    const whole = head ? head.replace(/\B(?=(\d\d)+$)/g, ",") + "," + tail : tail;
    return (currency === "INR" || !currency ? "₹" : currency + " ") + whole + "." + small;
  }

  function onTheme(color) {
    const hex = /^#([0-9a-f]{6})$/i.exec(color) || /^#([0-9a-f]{3})$/i.exec(color);
    if (!hex) return "#fff";
    const full = hex[1].length === 3 ? [...hex[1]].map((c) => c + c).join("") : hex[1];
    const [r, g, b] = [0, 2, 4].map((i) => {
      const v = parseInt(full.slice(i, i + 2), 16) / 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#101418" : "#fff";
  }

  async function call(path, fields) {
    const form = fields && new URLSearchParams(Object.entries(fields).filter(([, v]) => v != null && v !== ""));
    const res = await fetch(base + path, fields ? { method: "POST", body: form, credentials: "omit" } : { credentials: "omit", cache: "no-store" });
    const answer = await res.json();
    if (!res.ok && !answer.error) throw new Error("status " + res.status);
    return answer;
  }

  class Razorpay {
    #options;
    #listeners = new Map();
    #sheet = null;

    constructor(options) {
      if (!options || typeof options !== "object") throw new Error("Invalid options");
      if (!options.key) throw new Error("No key passed");
      if (!options.order_id && !(Number(options.amount) >= 100)) throw new Error("Invalid amount. It should be passed in integer paise. Minimum value is 100 paise, i.e. ₹ 1");
      this.#options = options;
    }

    on(event, listener) {
      if (typeof listener !== "function") throw new TypeError("The listener must be a function");
      this.#listeners.set(event, [...(this.#listeners.get(event) || []), listener]);
      return this;
    }

    open() {
      if (this.#sheet) return this;
      this.#sheet = new Sheet(this.#options, {
        emit: (event, detail) => (this.#listeners.get(event) || []).forEach((f) => f(detail)),
        gone: () => (this.#sheet = null),
      });
      return this;
    }

    close() {
      this.#sheet?.dismiss();
    }

    static open(options) {
      return new Razorpay(options).open();
    }
  }

  const methods = [["upi", "UPI"], ["card", "Card"], ["netbanking", "Netbanking"]];
  const banks = [["HDFC", "HDFC Bank"], ["ICIC", "ICICI Bank"], ["SBIN", "State Bank of India"], ["BARB_R", "Bank of Baroda"], ["UTIB", "Axis Bank"]];

  class Sheet {
    #o; #host; #dialog; #status; #error; #panels = {}; #tabs = {}; #ask; #buttons; #pending = null; #over = false; #timers = []; #confirming = false;
    #preferences = {}; #amount; #wanted = null; #pressed = null;

    constructor(options, host) {
      this.#o = options;
      this.#host = host;
      this.#draw();
      this.#load();
      if (options.timeout > 0) this.#timers.push(setTimeout(() => this.dismiss(), options.timeout * 1000));
    }

    #draw() {
      style();
      const o = this.#o, modal = o.modal || {};
      const id = (name) => "standin-" + name;
      this.#error = h("p", { class: "standin-error", role: "alert", "data-testid": "standin-error", hidden: true });
      this.#status = h("p", { class: "standin-note", role: "status", "data-testid": "standin-status" }, "Contacting the gateway…");
      this.#amount = h("p", { class: "standin-amount", "data-testid": "standin-amount" });
      this.#ask = h("div", { hidden: true });

      const hidden = new Set((o.config?.display?.hide || []).map((x) => x.method));
      const shown = methods.filter(([m]) => !hidden.has(m));
      const tabs = shown.map(([m, label]) => (this.#tabs[m] = h("button", {
        type: "button", role: "tab", id: id("tab-" + m), "data-testid": "standin-tab-" + m, "aria-controls": id("panel-" + m), onclick: () => this.#select(m),
      }, label)));
      const strip = h("div", { class: "standin-tabs", role: "tablist", "aria-label": "Pay by", onkeydown: (e) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
        if (!step) return;
        e.preventDefault();
        const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
        next.focus();
        next.click();
      } }, ...tabs);
      const panels = shown.map(([m]) => (this.#panels[m] = this.#panel(m)));

      this.#buttons = h("div", {},
        this.#button("Succeed", "standin-succeed", "succeed"), this.#button("Fail", "standin-fail", "fail"),
        this.#button("Leave pending", "standin-pending", "pend"), this.#button("Succeed late", "standin-late", "succeed_late"));

      this.#dialog = h("dialog", { class: "standin-sheet", "data-testid": "standin-sheet", "aria-labelledby": id("title"),
        oncancel: (e) => { e.preventDefault(); if (modal.escape !== false) this.dismiss(true); },
        onclose: () => this.#end(true),
        onclick: (e) => { if (e.target === this.#dialog && modal.backdropclose) this.dismiss(true); },
      },
      h("header", {},
        o.image ? h("img", { src: o.image, alt: "" }) : null,
        h("div", {}, h("h2", { id: id("title") }, o.name || "Payment"), o.description ? h("p", {}, o.description) : null),
        this.#amount,
        h("button", { type: "button", "aria-label": "Close payment", "data-testid": "standin-close", onclick: () => this.dismiss(true) }, "×")),
      h("div", { class: "standin-body" },
        this.#status, this.#error,
        o.prefill?.contact ? h("p", { class: "standin-note" }, "Paying as " + o.prefill.contact) : null,
        this.#ask, strip, ...panels),
      h("section", { class: "standin-bank", "aria-label": "Test gateway" },
        h("p", { class: "standin-note" }, "Test gateway: no money moves. You decide what the bank answers."), this.#buttons));

      const theme = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(o.theme?.color) ? o.theme.color : "#1f4b7a";
      this.#dialog.style.setProperty("--standin-theme", theme);
      this.#dialog.style.setProperty("--standin-on-theme", onTheme(theme));
      if (o.theme?.backdrop_color) this.#dialog.style.setProperty("--standin-backdrop", o.theme.backdrop_color);
      document.body.append(this.#dialog);
      this.#dialog.showModal();
      this.#select(this.#panels[o.prefill?.method] ? o.prefill.method : shown[0]?.[0]);
      this.#busy(true);
    }

    #button(label, testid, outcome) {
      return h("button", { type: "button", "data-testid": testid, onclick: () => this.#pay({ outcome }) }, label);
    }

    #panel(m) {
      const pay = h("button", { class: "standin-main", "data-testid": "standin-pay-" + m }, "Pay");
      const field = (label, attributes) => h("label", {}, label, h("input", { required: true, autocomplete: "off", ...attributes }));
      const inside = {
        upi: () => [field("UPI ID", { name: "vpa", value: this.#o.prefill?.vpa || "success@razorpay", "data-testid": "standin-vpa", inputmode: "email" }),
          h("p", { class: "standin-note" }, "success@razorpay pays, failure@razorpay does not.")],
        card: () => [field("Card number", { name: "number", value: "4100 2800 0000 1007", inputmode: "numeric", "data-testid": "standin-card" }),
          h("div", { class: "standin-two" }, field("Expiry", { name: "expiry", value: "12/39" }), field("CVV", { name: "cvv", value: "123", inputmode: "numeric" }))],
        netbanking: () => [h("label", {}, "Bank", h("select", { name: "bank", "data-testid": "standin-bank" }, ...banks.map(([v, t]) => h("option", { value: v }, t))))],
      }[m]();
      return h("div", { role: "tabpanel", id: "standin-panel-" + m, "aria-labelledby": "standin-tab-" + m, hidden: true },
        h("form", { onsubmit: (e) => { e.preventDefault(); this.#chosen(m, new FormData(e.target)); } }, ...inside, pay));
    }

    #select(m) {
      for (const [name, panel] of Object.entries(this.#panels)) {
        panel.hidden = name !== m;
        this.#tabs[name].setAttribute("aria-selected", String(name === m));
        this.#tabs[name].tabIndex = name === m ? 0 : -1;
      }
      this.#wanted = m;
    }

    // chosen is the Pay button of a method: UPI ids and card numbers decide as the gateway's test ones do, a card asks for its
    // one-time password first and a bank shows its own page.
    #chosen(m, data) {
      if (m === "upi") return this.#pay({ vpa: data.get("vpa") });
      if (m === "card") {
        const otp = h("input", { required: true, name: "otp", inputmode: "numeric", autocomplete: "one-time-code", "data-testid": "standin-otp" });
        return this.#question([h("label", {}, "One-time password (4 to 10 digits)", otp), h("button", { class: "standin-main", "data-testid": "standin-otp-submit" }, "Confirm")],
          () => this.#pay({ number: data.get("number"), otp: otp.value }), otp);
      }
      const yes = h("button", { type: "button", "data-testid": "standin-bank-success", onclick: () => this.#pay({ bank: data.get("bank"), outcome: "succeed" }) }, "Success");
      const no = h("button", { type: "button", "data-testid": "standin-bank-failure", onclick: () => this.#pay({ bank: data.get("bank"), outcome: "fail" }) }, "Failure");
      this.#question([h("p", {}, "Your bank's page"), h("div", { class: "standin-two" }, yes, no)], () => {}, yes);
    }

    #question(children, submitted, focus) {
      this.#ask.replaceChildren(h("form", { onsubmit: (e) => { e.preventDefault(); submitted(); } }, ...children));
      this.#ask.hidden = false;
      focus.focus();
    }

    #answered() {
      this.#ask.hidden = true;
      this.#ask.replaceChildren();
    }

    // busy takes the buttons away while a call is under way, and gives the pressed one its focus back.
    #busy(busy) {
      if (busy) this.#pressed = document.activeElement;
      for (const b of this.#dialog.querySelectorAll(".standin-bank button, .standin-body button")) b.disabled = busy;
      if (!busy && this.#dialog.contains(this.#pressed)) this.#pressed.focus();
    }

    #say(text) { this.#status.textContent = text; }

    #complain(text) {
      this.#error.textContent = text || "";
      this.#error.hidden = !text;
    }

    async #load() {
      try {
        const query = new URLSearchParams({ key_id: this.#o.key });
        if (this.#o.order_id) query.set("order_id", this.#o.order_id);
        const p = await call("/v1/preferences?" + query);
        if (this.#over) return;
        if (p.error) {
          this.#say("");
          return this.#complain("Oops! Something went wrong. " + p.error.description);
        }
        this.#preferences = p;
        const amount = p.order ? p.order.amount_due || p.order.amount : Math.trunc(Number(this.#o.amount)), currency = p.order?.currency || this.#o.currency;
        this.#amount.textContent = money(amount, currency);
        for (const b of this.#dialog.querySelectorAll("[data-testid^=standin-pay-]")) b.textContent = "Pay " + this.#amount.textContent;
        this.#say(p.order?.status === "paid" ? "This order is paid already." : "Choose how to pay.");
        this.#busy(false);
      } catch {
        this.#say("");
        this.#complain("The gateway cannot be reached. Close this and try again.");
      }
    }

    async #pay(answer) {
      const o = this.#o, prefill = o.prefill || {};
      const fields = {
        key_id: o.key, order_id: o.order_id, amount: o.order_id ? null : o.amount, currency: o.order_id ? null : o.currency, payment_id: this.#pending,
        method: this.#wanted, outcome: answer.outcome, vpa: answer.vpa, bank: answer.bank, otp: answer.otp, email: prefill.email, contact: prefill.contact,
        description: o.description, callback_url: o.callback_url, "card[number]": answer.number,
      };
      for (const [k, v] of Object.entries(o.notes || {})) fields[`notes[${k}]`] = v;
      this.#busy(true);
      this.#complain("");
      this.#say("Paying…");
      try {
        const result = await call("/v1/payments/create/ajax", fields);
        if (!this.#over) this.#take(result);
      } catch {
        if (this.#over) return;
        this.#busy(false);
        this.#say("");
        this.#complain("The gateway cannot be reached. Try again.");
      }
    }

    #take(result) {
      if (result.razorpay_payment_id) return this.#succeeded(result);
      if (result.error) return this.#failed(result);
      this.#busy(false);
      this.#answered();
      this.#say("Waiting for your bank…");
      if (this.#pending !== result.payment_id) {
        this.#pending = result.payment_id;
        this.#poll(result.payment_id);
      }
    }

    // poll asks for a pending payment until it is decided or the sheet is gone.
    async #poll(id) {
      while (!this.#over && this.#pending === id) {
        await new Promise((done) => this.#timers.push(setTimeout(done, 1000)));
        if (this.#over || this.#pending !== id) return;
        try {
          const result = await call(`/v1/payments/${id}/status?` + new URLSearchParams({ key_id: this.#o.key }));
          if (!this.#over && this.#pending === id && !result.payment_id) this.#take(result);
        } catch { /* ask again */ }
      }
    }

    #usesCallback(success) {
      const { callback_url: url, redirect, handler } = this.#o;
      if (!url) return false;
      if (redirect === true) return true;
      return success && (!handler || inApp || this.#preferences.callback_over_handler === true);
    }

    #toCallback(paymentID) {
      this.#end(false);
      location.assign(`${base}/v1/payments/${paymentID}/callback?` + new URLSearchParams({ key_id: this.#o.key }));
    }

    #succeeded(result) {
      this.#pending = null;
      if (this.#usesCallback(true)) return this.#toCallback(result.razorpay_payment_id);
      this.#end(false);
      this.#o.handler?.(result);
    }

    #failed(result) {
      const id = result.error.metadata?.payment_id;
      if (id && this.#usesCallback(false)) return this.#toCallback(id);
      this.#pending = null;
      this.#busy(false);
      this.#answered();
      this.#say("Choose how to pay.");
      this.#complain(result.error.description);
      this.#host.emit("payment.failed", { error: result.error });
      const retry = this.#o.retry;
      if (retry === false || retry?.enabled === false) this.#end(true);
    }

    // dismiss closes the sheet without a payment; asking first, when the shop wants that, only if a person closes it.
    dismiss(byHand) {
      if (this.#over) return;
      if (byHand && this.#o.modal?.confirm_close && !this.#confirming) {
        this.#confirming = true;
        const stay = h("button", { type: "button", "data-testid": "standin-stay", onclick: () => { this.#confirming = false; this.#answered(); } }, "No, stay");
        const leave = h("button", { type: "button", "data-testid": "standin-leave", onclick: () => this.#end(true) }, "Yes, leave");
        return this.#question([h("p", {}, "Do you want to leave the payment?"), h("div", { class: "standin-two" }, leave, stay)], () => {}, stay);
      }
      this.#end(true);
    }

    #end(dismissed) {
      if (this.#over) return;
      this.#over = true;
      this.#timers.forEach(clearTimeout);
      this.#dialog.close();
      this.#dialog.remove();
      this.#host.gone();
      if (dismissed) this.#o.modal?.ondismiss?.();
    }
  }

  window.Razorpay = Razorpay;
})();
