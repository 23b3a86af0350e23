// The customers' script: stepper, dish sheet, sections in view, page cache, pay page, order page.
// Everything here is comfort: every form works without it.

// Steppers. The number changes at once; htmx sends the newest absolute value, and the server ignores an older seq.
const counts = () => $$('form').filter(f => f.elements.seq);
// form.elements.item is the collection's own method, so the field is asked for by selector.
const itemOf = f => $('[name=item]', f).value;
const lineOf = f => [itemOf(f), ...$$('[name=option]', f).map(i => i.value)].join();
const waiting = f => f.elements.seq && f.elements.seq.value !== (f.dataset.done || '');
const put = (f, n) => { f.elements.qty.value = f.dataset.qty = n; const o = $('output', f); if (o) o.value = n; };
let focusNext;

on('click', e => {
  const b = e.target.closest('button[name=set]'), f = b?.form;
  if (!f?.elements.seq) return;
  e.preventDefault();
  const was = +f.elements.qty.value, now = Math.min(20, Math.max(0, was + (b.matches('.step button:first-of-type') ? -1 : 1)));
  if (now === was) return say(words.most);
  for (const other of counts()) if (lineOf(other) === lineOf(f)) put(other, now);
  f.elements.seq.value = Date.now();
  if (f.matches('.buy')) { if (!was !== !now) $(now ? '.step button:last-of-type' : '.add', f)?.focus(); }
  else if (f.matches('.line') && !now) {
    const all = $$('form.line', f.parentNode), i = all.indexOf(f), next = all[i + 1] || all[i - 1];
    focusNext = next ? $('.nm', next).id : 'cart-empty';
  }
  htmx.trigger(f, 'htmx:abort');
  htmx.trigger(f, 'qty');
});
// Leaving while a number is still on its way: a link waits for its answer (two seconds at most), so that the next page shows it; a
// page that goes any other way sends it along.
on('click', e => {
  const a = e.target.closest('a[href]'), late = counts().filter(waiting);
  if (!late.length || !a || a.target || e.ctrlKey || e.metaKey || e.shiftKey || e.defaultPrevented || a.getAttribute('href')[0] === '#' || a.hasAttribute('hx-get')) return;
  e.preventDefault();
  const go = () => { if (!going) return; going = 0; location.assign(a.href); };
  let going = setTimeout(go, 2000);
  on('htmx:afterRequest', () => { if (!counts().some(waiting)) go(); });
  for (const f of late) htmx.trigger(f, 'submit');
});
addEventListener('pagehide', () => {
  for (const f of counts().filter(waiting)) fetch(f.action, { method: 'POST', body: new URLSearchParams(new FormData(f)), keepalive: true });
});
on('htmx:beforeOnLoad', e => {
  const f = e.detail.elt, { status } = e.detail.xhr;
  if (!f.elements?.seq) return;
  f.dataset.done = e.detail.requestConfig.parameters.seq;
  // The server could not do it: show the number it has.
  if ((status >= 500 || status === 429) && !waiting(f)) for (const other of counts()) if (other.matches('.line') && lineOf(other) === lineOf(f)) put(other, +$('output', other).defaultValue);
});
// A part with a number in it that is still on its way is not replaced: its own answer will bring it.
on('htmx:oobBeforeSwap', e => { if ([e.detail.target, ...$$('form', e.detail.target)].some(f => f.elements && waiting(f))) e.detail.shouldSwap = false; });
// The cart column is the truth for every other number on the page.
const align = () => {
  const cart = $('#cart');
  if (!cart) return;
  const busy = counts().filter(waiting).map(lineOf), n = {}, all = {};
  for (const f of $$('form.line', cart)) { n[lineOf(f)] = +f.elements.qty.value; all[itemOf(f)] = (all[itemOf(f)] || 0) + +f.elements.qty.value; }
  for (const f of counts()) if (!cart.contains(f) && !busy.includes(lineOf(f))) put(f, n[lineOf(f)] || 0);
  for (const p of $$('.custom[data-item]')) p.textContent = all[p.dataset.item] ? cart.dataset.some.replace('#', all[p.dataset.item]) : cart.dataset.none;
};

// Back and forward: a page kept by the browser shows the newest cart and order.
const version = () => document.cookie.match(/cartv=(\w+)/)?.[1];
let seen = version();
on('htmx:afterRequest', e => {
  seen = version();
  if (e.detail.elt.matches('form')) align();
  const to = focusNext && document.getElementById(focusNext);
  if (to) { to.focus(); focusNext = ''; }
  if (e.detail.successful) e.detail.elt.closest?.('dialog')?.close();
});
addEventListener('pageshow', e => {
  if (!e.persisted) return;
  if (version() !== seen) location.reload(); else if ($('#live')) htmx.trigger('#live', 'again');
});

// Dish sheet: a real page, shown as a dialog when htmx fetched it. Esc is the browser's.
on('htmx:afterSwap', e => { if (e.target.id === 'sheet') { $('dialog', e.target)?.showModal(); $$('form.sheet').forEach(weigh); } });
on('click', e => { if (e.target.closest('[data-close]') || e.target.matches('dialog')) e.target.closest('dialog')?.close(); });
on('close', e => e.target.remove(), true);
on('click', e => {
  const b = e.target.closest('[data-by]');
  if (!b) return;
  const i = $('input', b.parentNode);
  i.value = Math.min(20, Math.max(1, (+i.value || 1) + +b.dataset.by));
  weigh(b.form);
});
// The price on the button follows each change. It is only shown; the server counts again.
const rupees = p => '₹' + (p / 100).toLocaleString('en-IN', { minimumFractionDigits: p % 100 ? 2 : 0 });
const weigh = f => {
  for (const set of $$('fieldset[data-max]', f)) {
    const boxes = $$('[type=checkbox]', set), n = boxes.filter(b => b.checked).length;
    for (const b of boxes) b.disabled = b.hasAttribute('data-out') || !b.checked && n >= +set.dataset.max;
    boxes[0]?.setCustomValidity(n < +set.dataset.min ? set.dataset.few : '');
  }
  const one = $$(':checked', f).reduce((sum, i) => sum + +i.dataset.paise, +f.dataset.paise), qty = +f.elements.add.value;
  if (qty > 0) $('[data-total]', f).textContent = ' · ' + rupees(one * qty);
};
on('input', e => { const f = e.target.closest('form.sheet'); if (f) weigh(f); });
$$('form.sheet').forEach(weigh);

// The category in view.
const links = new Map();
const spy = new IntersectionObserver(list => {
  for (const { target, isIntersecting } of list) if (isIntersecting && links.has(target.id)) {
    for (const a of links.values()) a.removeAttribute('aria-current');
    const a = links.get(target.id), bar = a.closest('.wrap');
    a.setAttribute('aria-current', 'true');
    bar.scrollTo({ left: a.offsetLeft - bar.clientWidth / 2 + a.offsetWidth / 2 });
  }
}, { rootMargin: '-20% 0px -75%' });
const watch = () => {
  spy.disconnect(); links.clear();
  for (const a of $$('.cats a[href^="#"]')) { links.set(a.hash.slice(1), a); const s = document.getElementById(a.hash.slice(1)); if (s) spy.observe(s); }
};
watch();
on('htmx:afterSettle', e => {
  if (e.target.id === 'results') { watch(); align(); }
  if (e.target.id === 'main') $('[aria-invalid], #main .msg.bad, #main .msg.warn')?.scrollIntoView({ block: 'center' }); // what was refused, not the top of the page
});

// Order page: swap only what changed, say it once, keep asking quickly while money is being confirmed.
// What changes by the clock alone is fetched when its time has come (data-turn, in ms); that countdown is no change of the page.
let shown, turn, spoken = $('#status')?.dataset.say, state = $('#status')?.dataset.state;
const turns = ms => { clearTimeout(turn); if (ms && ms < 1e9) turn = setTimeout(() => htmx.trigger('#live', 'again'), +ms + 50); };
turns($('#status')?.dataset.turn);
on('htmx:beforeSwap', e => {
  if (e.detail.target.id !== 'status') return;
  const [, ms] = e.detail.serverResponse.match(/data-turn="(\d*)"/) || [], now = e.detail.serverResponse.replace(/data-turn="\d*"/, '');
  turns(ms);
  if (now === shown) e.detail.shouldSwap = false;
  shown = now;
});
on('htmx:afterSettle', () => {
  const s = $('#status');
  if (!s) return;
  if (s.dataset.say !== spoken) say(spoken = s.dataset.say);
  if (s.dataset.state !== state) { state = s.dataset.state; if (document.activeElement === document.body) $('h1', s).focus(); }
});
let asked = 0;
const ask = () => {
  const hurry = $('#status[data-hurry]');
  if (hurry) { htmx.trigger('#live', 'again'); asked++; } else asked = 0;
  setTimeout(ask, asked < 15 ? 2000 : 10000);
};
if ($('#live')) { setTimeout(ask, 2000); on('htmx:sseError', () => $('#stream').classList.add('off')); on('htmx:sseOpen', () => $('#stream').classList.remove('off')); }

// Pay page. The handler proves nothing by itself: it hands the answer to the server and goes to the order page, whatever happens.
const pay = $('#pay');
const show = name => { for (const p of $$('[data-show]', pay)) p.hidden = !p.dataset.show.split(' ').includes(name); };
const open = () => {
  if (!window.Razorpay) return show('blocked');
  const o = JSON.parse($('#pay-options').textContent), left = Math.floor(o.timeout - performance.now() / 1000);
  if (left < 1) return location.assign(pay.dataset.order);
  o.timeout = left;
  o.modal = { confirm_close: true, ondismiss: () => show($('#reason').textContent ? 'failed' : 'closed') };
  o.handler = answer => {
    show('confirming');
    fetch(pay.dataset.verify, { method: 'POST', headers: { 'Content-Type': 'application/json', Accept: 'application/json' }, body: JSON.stringify(answer), keepalive: true, signal: AbortSignal.timeout?.(10000) })
      .catch(() => {}).then(() => location.replace(pay.dataset.order));
  };
  if (/FBA[NV]|Instagram|Line\/|; wv\)/.test(navigator.userAgent)) o.redirect = true; else delete o.callback_url;
  const sheet = new Razorpay(o);
  sheet.on('payment.failed', ({ error }) => { $('#reason').textContent = error?.description || $('#reason').dataset.else; show('failed'); });
  $('#reason').textContent = '';
  sheet.open();
};
if ($('#pay-options')) {
  const first = () => { if ('open' in pay.dataset) open(); else if (!window.Razorpay) show('blocked'); };
  document.readyState === 'complete' ? first() : addEventListener('load', first);
  on('click', e => { if (e.target.closest('[data-pay]')) open(); });
}
// No gateway order yet: ask again for the customer.
if ($('#prepare')) setTimeout(() => $('#prepare').requestSubmit(), 2000);

// Where the browser is, for the distance: only when asked to, and the bill follows.
on('click', e => {
  const b = e.target.closest('[data-locate]');
  if (b) navigator.geolocation.getCurrentPosition(({ coords: c }) => { $('#place').value = c.latitude.toFixed(6) + ',' + c.longitude.toFixed(6); htmx.trigger(b, 'located'); }, () => say(b.dataset.lost));
});

// A field that is left with something that cannot be right says so at once, never while typing; a mended one falls silent.
const judge = (i, loud) => {
  const err = document.getElementById('error-' + i.id), bad = i.value !== '' && !i.checkValidity();
  if (!err || bad && !loud) return;
  i.toggleAttribute('aria-invalid', bad);
  if (bad) { i.setAttribute('aria-invalid', 'true'); $('span', err).textContent = i.dataset.hint; }
  err.hidden = !bad;
};
on('focusout', e => { if (e.target.dataset?.hint) judge(e.target, true); });
on('input', e => { if (e.target.matches('[aria-invalid]')) judge(e.target, false); });

if ($('#offline')) setInterval(() => fetch('/healthz').then(a => a.ok && location.reload()).catch(() => {}), 3000);
navigator.serviceWorker?.register('/sw.js').catch(() => {});
