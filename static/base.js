// Shared by customers and staff. The bundle wraps these files in one function, so nothing here is global.
const $ = (s, root = document) => root.querySelector(s);
const $$ = (s, root = document) => [...root.querySelectorAll(s)];
const on = (name, fn, capture) => document.addEventListener(name, fn, capture);
const say = text => { $('#say').textContent = text; };

// The sentences that only script says, in the page's language.
const words = $('#toast-form').dataset;

// One toast at a time. With a second argument it has a button and stays until it is pressed or replaced.
let fade;
const toast = (text, again) => {
  const t = $('#toast-form').content.cloneNode(true), b = $('button', t);
  $('span', t).textContent = text;
  if (again) b.addEventListener('click', () => { $('#toast').replaceChildren(); again(); }); else b.remove();
  $('#toast').replaceChildren(t);
  clearTimeout(fade);
  if (!again) fade = setTimeout(() => $('#toast').replaceChildren(), 8000);
};

// No answer from the server: say so and offer the same request again. A poll that fails is shown by the live sign instead.
const lost = text => e => {
  const elt = e.detail.elt;
  if (elt.id === 'live') return;
  toast(text, () => htmx.trigger(elt, elt.elements?.seq ? 'qty' : elt.matches('form') ? 'submit' : 'click'));
};
on('htmx:sendError', lost(words.lost));
on('htmx:timeout', lost(words.slow));
on('click', e => { if (e.target.closest('[data-dismiss]')) $('#toast').replaceChildren(); });
