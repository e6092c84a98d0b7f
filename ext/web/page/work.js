// SQLite at work, beside the page: files are read here, and a query that takes long keeps nobody waiting. It asks
// nothing of any network by itself; the page hands it the compiled WebAssembly.

import { Database } from './database.js';
import { System } from './system.js';

const TOLD_MS = 200;

let system = null;
let database = null;
let remote = null; // what reads URLs; null: nothing does
const attached = new Map(); // path -> name of the database

const literal = (text) => `'${text.replaceAll("'", "''")}'`;
const identifier = (text) => `"${text.replaceAll('"', '""')}"`;

// ---- telling the page what goes on ----

let toldAt = 0;
let readBefore = 0;

const readNbytes = () => (system?.counters.bytes ?? 0) + (remote?.counters.bytes ?? 0);

function tellProgress() {
  const now = performance.now();
  if (now - toldAt < TOLD_MS) return;
  toldAt = now;
  postMessage({ progress: { bytes: readNbytes() - readBefore } });
}

/** Files that SQL has made or changed go to the page, which keeps them when this worker is stopped. */
function tellMade() {
  const made = system.made().filter(([path]) => !/(^|\/)\./.test(path) && !/-journal$/.test(path));
  const files = made.map(([path, file]) => {
    const blob = file.isChanged ? new Blob([file.bytes.subarray(0, file.size)]) : null;
    file.isChanged = false;
    return { path, size: file.size, blob };
  });
  postMessage({ made: files });
}

// ---- files ----

const DATABASE = 'SQLite format 3\0';

function isDatabase(blob) {
  return blob.size >= 100 && new FileReaderSync().readAsBinaryString(blob.slice(0, DATABASE.length)) === DATABASE;
}

/** A database's name: the file's without its extension, and with a number where that is taken. */
function freeName(path) {
  const stem = path.split('/').pop().replace(/\.[^.]*$/, '') || 'dropped';
  const taken = new Set(['main', 'temp', ...attached.values()].map((name) => name.toLowerCase()));
  let name = stem;
  for (let i = 2; taken.has(name.toLowerCase()); i++) name = `${stem}_${i}`;
  return name;
}

function forget(path) {
  if (attached.has(path)) database.run(`DETACH ${identifier(attached.get(path))}`, () => {});
  attached.delete(path);
}

/** A file has a blob; a URL has none. */
function add({ path, blob, isMade }) {
  try {
    if (blob === null) {
      remote.add(path);
      return null;
    }
    forget(path);
    system.put(path, blob, isMade);
    if (isMade || !isDatabase(blob)) return null;
    const name = freeName(path);
    database.run(`ATTACH ${literal(path)} AS ${identifier(name)}`, () => {});
    attached.set(path, name);
    return null;
  } catch (error) {
    return `${path}: ${error.message}`;
  }
}

const DESCRIBED_NARRAYS = 200;

/** What is in a file, for the ready queries. */
function described(path) {
  const name = attached.get(path);
  if (name !== undefined) {
    const tables = `SELECT name FROM ${identifier(name)}.sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite^_%' ESCAPE '^'`;
    return { database: name, tables: database.rows(tables).map(([table]) => table), arrays: [] };
  }
  const rows = database.rows(
    `SELECT name, dtype, shape, ndim, format, error FROM npy_meta(${literal(path)}, 'row') LIMIT ${DESCRIBED_NARRAYS}`,
  );
  const arrays = rows.map(([array, dtype, shape, ndim, format, error]) => ({ name: array, dtype, shape: JSON.parse(shape ?? '[]'), ndim: Number(ndim), format, error }));
  return { arrays };
}

// ---- what the page asks for ----

function explained(error) {
  if (system.troubles.length === 0) return error.message;
  const said = system.troubles[0];
  return `${error.message}\nThe browser could not read the file (${said}). If it was changed or moved since, choose it again.`;
}

const answers = {
  async begin({ module, files }) {
    system = new System(tellProgress);
    const imports = {
      wasi_snapshot_preview1: system.imports,
      npyext: { duplicate: (...args) => system.duplicate(...args), lock: (...args) => system.lock(...args) },
      page: { progress: tellProgress, remote: (context, question, at, nbytes) => database.answer(context, remote.answer(question, database.asked(at, nbytes))) },
    };
    const instance = await WebAssembly.instantiate(module, imports);
    system.memory = instance.exports.memory;
    instance.exports._initialize();
    database = new Database(instance.exports);
    if (remote) database.readUrls();
    const [[version, sqlite]] = database.rows('SELECT npyext_version(), sqlite_version()');
    return { version, sqlite, troubles: files.map(add).filter(Boolean) };
  },

  add: ({ files }) => ({ troubles: files.map(add).filter(Boolean) }),

  remove({ path }) {
    if (remote?.remove(path)) return {};
    forget(path);
    system.remove(path);
    return {};
  },

  describe: ({ path }) => described(path),

  run({ sql }) {
    const began = performance.now();
    const requestsBefore = remote?.counters.requests;
    database.run(sql, (result) => postMessage({ result }));
    return { seconds: (performance.now() - began) / 1000, bytes: readNbytes() - readBefore, requests: remote ? remote.counters.requests - requestsBefore : null };
  },
};

/** Answers the page; `makeRemote(onRead)` makes what reads URLs, where that is wanted. */
export function work(makeRemote = null) {
  remote = makeRemote && makeRemote(tellProgress);
  onmessage = async ({ data: { number, ask, ...more } }) => {
    try {
      toldAt = performance.now();
      readBefore = readNbytes();
      if (system) system.troubles = [];
      const answer = await answers[ask](more);
      if (ask === 'run') tellMade();
      postMessage({ number, answer });
    } catch (error) {
      // Of SQL that went wrong the connection is as good as before; a trap of the WebAssembly leaves nothing usable.
      const isBroken = database === null || error instanceof WebAssembly.RuntimeError;
      if (ask === 'run' && !isBroken) tellMade();
      postMessage({ number, error: isBroken ? `npyext has broken down: ${error.message}` : explained(error), isBroken });
    }
  };
}
