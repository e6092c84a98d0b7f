// A service worker between the page for URLs and the browser's cache, which would answer for a server for days and know
// nothing of a file that was replaced. What asks for a range of bytes goes past the cache; all else is left alone.

addEventListener('install', () => skipWaiting());

addEventListener('activate', (event) => event.waitUntil(clients.claim()));

addEventListener('fetch', (event) => {
  if (event.request.headers.has('Range')) event.respondWith(ask(event.request).catch(() => Response.error()));
});

/** A server that knows no ranges sends the whole file, however long it is: its body is not waited for. */
async function ask(request) {
  const response = await fetch(request, { cache: 'no-store' });
  const [, first, last] = /(\d+)-(\d+)$/.exec(request.headers.get('Range')) ?? [];
  const isWhole = response.status === 200 && last !== undefined && Number(response.headers.get('Content-Length')) !== last - first + 1;
  if (!isWhole) return response;
  await response.body.cancel();
  return new Response(null, response);
}
