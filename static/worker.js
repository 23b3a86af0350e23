// The service worker keeps hashed files, which never change, and one page for when there is no connection. It keeps nothing of anybody's:
// no page, no cart, no order.
self.addEventListener('install', e => e.waitUntil(caches.open(kept).then(c => c.addAll(WHAT)).then(() => self.skipWaiting())));
self.addEventListener('activate', e => e.waitUntil(caches.keys().then(names => Promise.all(names.filter(n => n !== kept).map(n => caches.delete(n)))).then(() => self.registration.navigationPreload?.enable()).then(() => self.clients.claim())));
self.addEventListener('fetch', e => {
  const { request } = e, url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== location.origin) return;
  if (url.pathname.startsWith('/static/')) {
    e.respondWith(caches.match(request).then(hit => hit || fetch(request).then(answer => {
      if (answer.ok) { const copy = answer.clone(); caches.open(kept).then(c => c.put(request, copy)); }
      return answer;
    })));
  } else if (request.mode === 'navigate') {
    e.respondWith(Promise.resolve(e.preloadResponse).then(early => early || fetch(request)).catch(() => caches.match(WHAT[0])));
  }
});
// One notification an order: a later step takes the place of an earlier one, never the other way round, and the same one twice rings once.
self.addEventListener('push', e => e.waitUntil((async () => {
  const told = e.data.json(), [old] = await self.registration.getNotifications({ tag: told.tag }), was = old?.data.n || 0, d = was > told.n ? old.data : told;
  return self.registration.showNotification(d.title, { body: d.body, lang: d.lang, tag: d.tag, icon: d.icon, data: d, renotify: was < d.n });
})()));
self.addEventListener('notificationclick', e => {
  const { url } = e.notification.data;
  e.notification.close();
  e.waitUntil(self.clients.matchAll({ type: 'window' }).then(open => open.find(c => new URL(c.url).pathname === url)?.focus() || self.clients.openWindow(url)));
});
