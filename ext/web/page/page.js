// What both pages are: which files there are, what is asked, what comes back. SQLite works beside it, in a worker. Where
// the files come from is in files.js and urls.js.

import { readyQueries } from './queries.js';

const element = (id) => document.getElementById(id);
const [fileList, arrayLine, arrayMenu, readyMenu, sqlText, runButton, stopButton, statusLine, errorBox, results] = [
  'files', 'array-line', 'array', 'ready', 'sql', 'run', 'stop', 'status', 'error', 'results',
].map(element);

const SMALL_PICTURE = 256;
const LONG_TEXT = 400;

/** path -> { blob, isMade }: what the visitor has dropped, and what SQL has made. A URL has no blob. */
const files = new Map();
let chosen = null; // { path, content }
let compiled = null;
let readySql = ''; // what the menu has put into the text last
let pictures = []; // URLs of pictures that are shown
let page = null; // { worker, source }: the script of the worker, and what all of some paths are in SQL

// ---- the worker ----

let worker = null;
let lastNumber = 0;
const waiting = new Map(); // number -> { resolve, reject }

function ask(name, more = {}) {
  const number = ++lastNumber;
  return new Promise((resolve, reject) => {
    waiting.set(number, { resolve, reject });
    worker.postMessage({ number, ask: name, ...more });
  });
}

function dismiss(reason, isBroken = false) {
  worker?.terminate();
  for (const { reject } of waiting.values()) reject(Object.assign(new Error(reason), { isBroken }));
  waiting.clear();
}

function heard({ data: { number, answer, error, isBroken, result, progress, made } }) {
  if (result) showResult(result);
  else if (progress) running.bytes = progress.bytes;
  else if (made) takeMade(made);
  else {
    const { resolve, reject } = waiting.get(number) ?? {};
    waiting.delete(number);
    if (error === undefined) resolve?.(answer);
    else reject?.(Object.assign(new Error(error), { isBroken }));
  }
}

/** Starts a worker with all files that there are. */
async function start() {
  worker = new Worker(page.worker, { type: 'module' });
  worker.onmessage = heard;
  worker.onerror = (event) => dismiss(event.message || 'The worker of this page could not be loaded.', true);
  const { version, sqlite, troubles } = await ask('begin', { module: compiled, files: [...files].map(([path, file]) => ({ path, ...file })) });
  element('version').textContent = `npyext ${version}, SQLite ${sqlite}.`;
  showError(troubles.join('\n'));
}

/** Some servers do not call the file what it is; its bytes are the same. */
async function compile() {
  const fetched = () => fetch('npyext.wasm');
  try {
    return await WebAssembly.compileStreaming(fetched());
  } catch {
    return WebAssembly.compile(await (await fetched()).arrayBuffer());
  }
}

// ---- what is going on ----

let running = { began: 0, bytes: 0, timer: 0 };

function setState(state) {
  document.body.dataset.state = state;
  runButton.disabled = state !== 'ready';
  stopButton.disabled = state !== 'busy';
}

const megabytes = (nbytes) => `${(nbytes / 1e6).toLocaleString('en', { maximumFractionDigits: nbytes < 1e7 ? 1 : 0 })} MB`;

function size(nbytes) {
  return nbytes < 100000 ? `${nbytes.toLocaleString('en')} bytes` : megabytes(nbytes);
}

function showProgress() {
  const seconds = (performance.now() - running.began) / 1000;
  if (seconds >= 0.5) statusLine.textContent = `${seconds.toFixed(0)} s, ${megabytes(running.bytes)} read`;
}

export function showError(text) {
  errorBox.textContent = text;
  if (text !== '') showAnswer();
}

/** Scrolls to the answer, or as much of it as the screen takes, where it is below the screen. */
function showAnswer() {
  element('answer').scrollIntoView({ block: 'nearest' });
}

// ---- results ----

function clearResults() {
  pictures.forEach((url) => URL.revokeObjectURL(url));
  pictures = [];
  results.replaceChildren();
  showError('');
}

function made(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/** A picture of few pixels is shown larger, so that they can be told apart. */
function enlarge({ target: image }) {
  const scale = Math.floor(SMALL_PICTURE / Math.max(image.naturalWidth, image.naturalHeight));
  if (scale > 1) image.width = image.naturalWidth * scale;
}

function pictureOf({ type, bytes }) {
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  pictures.push(url);
  const className = type === 'image/svg+xml' ? 'drawing' : '';
  return made('img', { src: url, className, alt: `a picture of ${bytes.length.toLocaleString('en')} bytes`, onload: enlarge });
}

/** A long text scrolls by itself, so that its row is no higher than the screen. */
function cell(value) {
  if (value.kind === 'picture') return made('td', { className: value.kind }, pictureOf(value));
  if (value.text.length > LONG_TEXT) return made('td', { className: value.kind }, made('div', { className: 'long', tabIndex: 0, textContent: value.text }));
  return made('td', { className: value.kind, textContent: value.text });
}

function countText({ rows, count, isCounted }) {
  const number = (n) => n.toLocaleString('en');
  if (!isCounted) return `The first ${number(rows.length)} rows are shown, of more than ${number(count)}.`;
  if (count > rows.length) return `The first ${number(rows.length)} of ${number(count)} rows are shown.`;
  return count === 1 ? '1 row' : `${number(count)} rows`;
}

function showResult(result) {
  const head = made('tr', {}, ...result.columns.map((name) => made('th', { scope: 'col', textContent: name })));
  const body = result.rows.map((row) => made('tr', {}, ...row.map(cell)));
  const table = made('table', {}, made('thead', {}, head), made('tbody', {}, ...body));
  const scrolled = made('div', { className: 'scrolled', tabIndex: 0, role: 'region', ariaLabel: `Result ${results.querySelectorAll('table').length + 1}` }, table);
  results.append(made('p', { className: 'quiet count', textContent: countText(result) }), scrolled);
}

// ---- running ----

/** Shows that something is going on while it is, unless something is already. */
async function busily(work) {
  if (document.body.dataset.state !== 'ready') return work();
  const focused = document.activeElement;
  setState('busy');
  running = { began: performance.now(), bytes: 0, timer: setInterval(showProgress, 250) };
  statusLine.textContent = 'At work …';
  try {
    return await work();
  } finally {
    clearInterval(running.timer);
    if (document.body.dataset.state === 'busy') setState('ready');
    if (document.activeElement === document.body) focused.focus({ preventScroll: true }); // a button loses it where it is disabled
  }
}

function doneText({ seconds, bytes, requests }) {
  const by = requests === null ? '' : ` by ${requests.toLocaleString('en')} request${requests === 1 ? '' : 's'}`;
  const rows = results.childElementCount === 0 ? ' There are no rows to show.' : '';
  return `Done in ${seconds.toFixed(seconds < 1 ? 3 : 1)} s, ${size(bytes)} read${by}.${rows}`;
}

async function run() {
  if (document.body.dataset.state !== 'ready') return;
  clearResults();
  await busily(async () => {
    try {
      statusLine.textContent = doneText(await ask('run', { sql: sqlText.value }));
    } catch (error) {
      showError(error.message);
      if (error.isBroken) await restart('The page was started anew.');
      else statusLine.textContent = '';
    }
  });
  await Promise.allSettled([...results.querySelectorAll('img')].map((image) => image.decode()));
  showAnswer();
}

/** A new worker, with the same files. What SQL has made in memory, tables and views, is gone. */
async function restart(why) {
  setState('loading');
  const error = errorBox.textContent;
  dismiss(why);
  await start().catch((trouble) => showError(trouble.message));
  if (error !== '') showError(error);
  statusLine.textContent = why;
  setState('ready');
}

async function stop() {
  if (document.body.dataset.state !== 'busy') return;
  clearInterval(running.timer);
  await restart('Stopped. The files are as they were; tables and views made by SQL are gone.');
  showError('');
}

// ---- files ----

function fileLine(path, { blob, isMade }) {
  const chooses = made('input', { type: 'radio', name: 'file', value: path, onchange: () => choose(path) });
  const line = made('li');
  line.append(made('label', {}, chooses, made('span', { textContent: path })));
  if (blob) line.append(made('span', { className: 'quiet', textContent: size(blob.size) }));
  if (isMade) line.append(made('a', { href: URL.createObjectURL(blob), download: path.split('/').pop(), textContent: 'Download', ariaLabel: `Download ${path}` }));
  line.append(made('button', { type: 'button', textContent: 'Remove', ariaLabel: `Remove ${path}`, onclick: () => remove(path) }));
  return line;
}

function showFiles() {
  fileList.querySelectorAll('a').forEach(({ href }) => URL.revokeObjectURL(href));
  const held = document.activeElement;
  const at = [...fileList.children].indexOf(held.closest('#files li'));
  fileList.replaceChildren(...[...files].map(([path, file]) => fileLine(path, file)));
  const nbytes = [...files.values()].reduce((sum, { blob }) => sum + (blob?.size ?? 0), 0);
  element('count').textContent = files.size < 2 ? '' : `${files.size.toLocaleString('en')} files${nbytes > 0 ? `, ${size(nbytes)}` : ''}`;
  markChosen();
  if (at < 0) return;
  const line = fileList.children[Math.min(at, files.size - 1)]; // what comes after a file that was removed
  (line?.querySelector(held.localName) ?? document.querySelector('main input, main textarea')).focus();
}

/** The lines stay as they are, with the focus where it is. */
function markChosen() {
  for (const line of fileList.children) {
    const chooses = line.querySelector('input');
    chooses.checked = chooses.value === chosen?.path;
    line.classList.toggle('chosen', chooses.checked);
    if (chooses.checked && (line.offsetTop < fileList.scrollTop || line.offsetTop + line.offsetHeight > fileList.scrollTop + fileList.clientHeight)) fileList.scrollTop = line.offsetTop;
  }
}

/** Files that SQL has made since the last time, and those that it has removed. */
function takeMade(list) {
  const paths = new Set(list.map(({ path }) => path));
  const isSame = list.every(({ blob }) => blob === null) && [...files].every(([path, { isMade }]) => !isMade || paths.has(path));
  if (isSame) return;
  for (const [path, { isMade }] of files) if (isMade && !paths.has(path)) files.delete(path);
  for (const { path, blob } of list) if (blob) files.set(path, { blob, isMade: true });
  showFiles();
  showReady();
}

const hasArrays = (path) => /\.(np[yz]|ten|tar|tar\.gz|tgz|safetensors|gguf|pth?|pkl|joblib)$/i.test(path);

/** [{ path, blob }] are added; the first that may have arrays is chosen. */
export async function add(list) {
  const added = list.filter(({ path }) => path !== '');
  if (added.length === 0) return;
  if (document.body.dataset.state !== 'ready') {
    showError('A query is at work: stop it first, then add the files.');
    return;
  }
  for (const { path, blob } of added) files.set(path, { blob, isMade: false });
  const { troubles } = await ask('add', { files: added });
  const isUntouched = sqlText.value === readySql;
  readyMenu.replaceChildren(); // of a new file the first query is ready
  showFiles();
  showError('');
  await choose((added.find(({ path }) => hasArrays(path)) ?? added[0]).path);
  if (troubles.length > 0) showError(troubles.join('\n'));
  if (isUntouched && troubles.length === 0) await run();
}

async function remove(path) {
  if (document.body.dataset.state !== 'ready') return;
  files.delete(path);
  await ask('remove', { path });
  showFiles();
  if (chosen?.path === path) await choose(files.keys().next().value);
}

async function choose(path) {
  chosen = null;
  let trouble = '';
  const said = statusLine.textContent;
  try {
    if (path !== undefined) chosen = { path, content: await busily(() => ask('describe', { path })) };
  } catch (error) {
    chosen = { path, content: { arrays: [] } };
    trouble = error.message;
  }
  statusLine.textContent = said;
  const arrays = chosen?.content.arrays ?? [];
  arrayMenu.replaceChildren(...arrays.map(({ name, dtype, shape }, i) => made('option', { value: i, textContent: `${name} ${dtype ?? ''} [${shape}]` })));
  arrayLine.hidden = arrays.length < 2;
  markChosen();
  showReady();
  if (trouble !== '') showError(trouble);
}

// ---- ready queries ----

/** The menu for what is chosen now. The same query stays chosen, or the one of that name for another array. */
function showReady() {
  const others = [...files.keys()].filter((path) => path !== chosen?.path && !/\.(db|sqlite3?|csv|tsv|txt|json|py|md)$/i.test(path));
  const groups = readyQueries(chosen, Number(arrayMenu.value), others, page.source([...files.keys()]));
  const before = { sql: readyMenu.value, label: readyMenu.selectedOptions[0]?.textContent };
  const option = ([label, sql]) => made('option', { textContent: label, value: sql });
  readyMenu.replaceChildren(...groups.map(([label, queries]) => made('optgroup', { label }, ...queries.map(option))));
  const all = [...readyMenu.options];
  const same = all.find(({ value }) => value === before.sql) ?? all.find(({ textContent }) => textContent === before.label);
  if (same) same.selected = true;
  if (sqlText.value === readySql) takeReady();
}

/** Another query has no answer yet: that of the last one goes. */
function takeReady() {
  if (sqlText.value !== readyMenu.value && document.body.dataset.state === 'ready') {
    clearResults();
    statusLine.textContent = 'Ready.';
  }
  sqlText.value = readySql = readyMenu.value;
}

// ---- the beginning ----

function listen() {
  runButton.onclick = run;
  stopButton.onclick = stop;
  readyMenu.onchange = takeReady;
  arrayMenu.onchange = showReady;
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run();
    if (event.key === 'Escape') stop();
  });
}

/** Begins a page. Whether it works. */
export async function begin(about) {
  page = about;
  try {
    compiled = await compile();
    await start();
    listen();
    showReady();
    statusLine.textContent = 'Ready.';
    setState('ready');
    return true;
  } catch (error) {
    showError(`The page could not be started: ${error.message}`);
    statusLine.textContent = '';
    setState('broken');
    return false;
  }
}
