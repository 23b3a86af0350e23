// The board's script: sound, wake lock, count in the title, the sign that the connection is gone.
Idiomorph.defaults.ignoreActiveValue = true;

const board = () => $('#board'), title = document.title.replace(/^\(\d+\) /, '');
const news = () => $$('.ticket.new').map(t => t.id);
let known = new Set(news());

// Sound. Browsers stay silent until the first tap, so the switch plays a sample and a hint asks for that tap.
const sound = $('#sound');
let audio;
const ring = () => {
  if (!sound?.checked) return;
  audio ||= new AudioContext();
  for (const [i, pitch] of [880, 1175, 880, 1175].entries()) {
    const o = audio.createOscillator(), g = audio.createGain(), at = audio.currentTime + i * .22;
    o.frequency.value = pitch;
    g.gain.setValueAtTime(.001, at); g.gain.exponentialRampToValueAtTime(.5, at + .02); g.gain.exponentialRampToValueAtTime(.001, at + .2);
    o.connect(g).connect(audio.destination); o.start(at); o.stop(at + .21);
  }
};
const hint = () => {
  const silent = audio?.state !== 'running';
  $('#sound-ask').hidden = !sound.checked || !silent;
  $('#sound-off').hidden = sound.checked;
};
if (sound) {
  sound.checked = localStorage.getItem('sound') !== 'off';
  sound.addEventListener('change', () => { localStorage.setItem('sound', sound.checked ? 'on' : 'off'); hint(); ring(); });
  const unlock = () => { audio ||= new AudioContext(); audio.resume().then(hint); };
  addEventListener('click', unlock); addEventListener('keydown', unlock); // not pointerdown: hiding the hint then would move the button from under the finger
  hint();
  setInterval(() => { if (news().length) ring(); }, 15000);
}

// What is new: in the title, to the ear, and once in words.
const look = () => {
  const ids = news(), fresh = ids.filter(id => !known.has(id));
  known = new Set(ids);
  document.title = (ids.length ? `(${ids.length}) ` : '') + title;
  if (!fresh.length) return;
  ring();
  say(fresh.map(id => document.getElementById(id).dataset.say).join(' '));
};

// On a phone one column is in view: its tab is marked, and stands in view itself.
const tabs = () => {
  const b = $('.board'), half = b && b.getBoundingClientRect().left + b.clientWidth / 2;
  const here = b && $$('.col', b).findLast(c => c.getBoundingClientRect().left < half);
  for (const a of $$('.tabs a')) {
    const is = a.hash === '#' + here?.id, was = a.hasAttribute('aria-current');
    if (is === was) continue;
    a.toggleAttribute('aria-current', is);
    if (is) { a.setAttribute('aria-current', 'true'); a.parentElement.scrollTo({ left: a.offsetLeft - 16 }); }
  }
};
on('scroll', tabs, true);
tabs();

let gone;
on('htmx:afterSettle', () => {
  if (board()) { look(); tabs(); }
  if ($('#toast [data-fade]')) { clearTimeout(gone); gone = setTimeout(() => $('#toast').replaceChildren(), 10000); }
});

// The connection.
let since;
const off = () => {
  if (since || !board()) return;
  since = new Date();
  $('#lost-since').textContent = since.toLocaleTimeString('en-IN', { hour: 'numeric', minute: '2-digit', hour12: true, timeZone: 'Asia/Kolkata' });
  $('#lost').hidden = false; $('#stream').classList.add('off');
  ring();
};
on('htmx:sseError', off);
on('htmx:sseOpen', () => {
  if (!since) return;
  since = null;
  $('#lost').hidden = true; $('#stream').classList.remove('off');
  ring();
});

// Keep the screen on while the board is open.
const awake = () => { if (board() && document.visibilityState === 'visible') navigator.wakeLock?.request('screen').catch(() => {}); };
on('visibilitychange', awake);
awake();
