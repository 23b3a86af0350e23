// The order page's offer to tell this browser. It is shown where the browser can do it, and asks for permission when it is pressed.
const f = document.getElementById('push'), worker = navigator.serviceWorker;
// The browser has one subscription for the whole shop; which orders it is for is remembered here, and kept by the server.
const mine = 'push ' + f?.action;
const show = now => { for (const e of f.querySelectorAll('[data-on]')) e.hidden = !e.dataset.on.split(' ').includes(now); };
const send = async (to, more) => {
  const answer = await fetch(f.action + to, { method: 'POST', body: new URLSearchParams({ _csrf: f.elements._csrf.value, ...more }) });
  if (!answer.ok) throw answer;
};
const press = async () => {
  if (localStorage.getItem(mine)) {
    const old = await (await worker.ready).pushManager.getSubscription();
    if (old) await send('/stop', { endpoint: old.endpoint });
    localStorage.removeItem(mine);
    return 'off';
  }
  if (await Notification.requestPermission() !== 'granted') return 'denied';
  const { pushManager } = await worker.ready, want = { userVisibleOnly: true, applicationServerKey: f.dataset.key };
  const made = await pushManager.subscribe(want).catch(async () => {
    // Perhaps one of another key, from before this shop moved.
    await (await pushManager.getSubscription())?.unsubscribe();
    return pushManager.subscribe(want);
  });
  const { endpoint, keys: { p256dh, auth } } = made.toJSON();
  await send('', { endpoint, p256dh, auth });
  localStorage.setItem(mine, 1);
  return 'on';
};
if (f && worker && window.PushManager && window.Notification) {
  show(Notification.permission === 'denied' ? 'denied' : Notification.permission === 'granted' && localStorage.getItem(mine) ? 'on' : 'off');
  f.hidden = false;
  let busy;
  f.addEventListener('submit', e => {
    e.preventDefault();
    if (!busy) busy = press().catch(() => 'failed').then(now => { show(now); busy = 0; });
  });
}
