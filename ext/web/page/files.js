// The page for files that are dropped or chosen.

import { add, begin, showError } from './page.js';

const [drop, chooser, folderChooser] = ['drop', 'chooser', 'folder-chooser'].map((id) => document.getElementById(id));

const ALL_FILES = '**/*.{npy,npz,ten,tar,tar.gz,tgz,safetensors,gguf,pt,pth,pkl,joblib}';

/** A folder has no order of its own. */
const byPath = (a, b) => (a.path < b.path ? -1 : 1);

/** [{ path, blob }] of an entry of the file system, folders with all that is in them. */
async function entryFiles(entry) {
  if (entry.isFile) return [{ path: entry.fullPath.replace(/^\/+/, ''), blob: await new Promise((resolve, reject) => entry.file(resolve, reject)) }];
  const reader = entry.createReader();
  const found = [];
  for (;;) { // a hundred at a time
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return found;
    for (const each of entries) found.push(...(await entryFiles(each)));
  }
}

async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) return [...transfer.files].map((blob) => ({ path: blob.name, blob }));
  return (await Promise.all(entries.map(entryFiles))).flat().sort(byPath);
}

async function takeChosen({ target }) {
  const list = [...target.files].map((blob) => ({ path: blob.webkitRelativePath || blob.name, blob }));
  target.value = ''; // so that the same file can be chosen again
  await add(target === folderChooser ? list.sort(byPath) : list);
}

function listen() {
  chooser.onchange = folderChooser.onchange = takeChosen;
  document.addEventListener('dragover', (event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
  document.addEventListener('dragleave', () => drop.classList.remove('over'));
  document.addEventListener('drop', async (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    await dropped(event.dataTransfer).then(add, (error) => showError(error.message));
  });
}

if (await begin({ worker: 'worker.js', source: () => ALL_FILES })) listen();
