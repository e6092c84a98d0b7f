// The page for URLs.

import { add, begin, showError } from './page.js';

const [input, addButton] = ['urls', 'add'].map((id) => document.getElementById(id));

function isUrl(text) {
  try {
    return new URL(text).hostname !== '' && /^https?:\/\//.test(text);
  } catch {
    return false;
  }
}

async function take() {
  const urls = input.value.split('\n').map((line) => line.trim()).filter(Boolean);
  const wrong = urls.find((url) => !isUrl(url));
  if (wrong !== undefined) {
    showError(`${wrong}: a URL begins with https:// or http://`);
    return;
  }
  await add(urls.map((path) => ({ path, blob: null })));
}

/** Its scope are this page and its worker, whose names begin so. Browsers have none where a page is at http://. */
async function passCache() {
  try {
    await navigator.serviceWorker.register('remote_fresh.js', { scope: 'remote' });
    await navigator.serviceWorker.ready;
  } catch {
    // then the cache answers, too
  }
}

function listen() {
  addButton.onclick = take;
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.stopPropagation(); // the query is not meant
    take();
  });
}

await passCache();
if (await begin({ worker: 'remote_worker.js', source: (paths) => JSON.stringify(paths) })) listen();
