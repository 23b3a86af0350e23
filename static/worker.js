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
