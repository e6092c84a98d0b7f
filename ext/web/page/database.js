// A connection of SQLite in the WebAssembly, with npyext in it.

const ROW = 100, DONE = 101;
const INTEGER = 1, FLOAT = 2, TEXT = 3, BLOB = 4;

// What is shown of a result, and what is sent to the page of one value.
const SHOWN_NROWS = 500;
const SHOWN_NCELLS = 50000;
const COUNTED_MS = 1000;
const SHOWN_NCHARACTERS = 4000;
const PICTURE_NBYTES = 32 << 20;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const PICTURES = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]],
  ['image/webp', [0x52, 0x49, 0x46, 0x46]],
];

const isSvg = (text) => text.startsWith('<svg ') && text.trimEnd().endsWith('</svg>');

/** A value as the page gets it: { kind, text } or, of a picture, { kind, type, bytes }. */
function shownBlob(bytes) {
  const [type] = PICTURES.find(([, head]) => head.every((byte, i) => bytes[i] === byte)) ?? [];
  if (type && bytes.length <= PICTURE_NBYTES) return { kind: 'picture', type, bytes: bytes.slice() };
  const kind = bytes[0] === 0x93 && decoder.decode(bytes.subarray(1, 6)) === 'NUMPY' ? 'array' : 'BLOB';
  return { kind: 'blob', text: `${kind}, ${bytes.length.toLocaleString('en')} bytes` };
}

function shownText(text) {
  if (isSvg(text)) return { kind: 'picture', type: 'image/svg+xml', bytes: encoder.encode(text) };
  if (text.length <= SHOWN_NCHARACTERS) return { kind: 'text', text };
  return { kind: 'text', text: `${text.slice(0, SHOWN_NCHARACTERS)}… (${text.length.toLocaleString('en')} characters)` };
}

function shownReal(number) {
  const text = Number.isFinite(number) ? String(number) : number > 0 ? 'Inf' : '-Inf';
  return { kind: 'number', text: /^-?\d+$/.test(text) ? `${text}.0` : text };
}

export class Database {
  constructor(exports) {
    this.exports = exports;
    this.connection = exports.page_open();
    if (this.connection === 0) throw new Error('SQLite does not begin: no memory');
  }

  bytes(at, nbytes) {
    return new Uint8Array(this.exports.memory.buffer, at, nbytes);
  }

  /** A C string in memory of SQLite's, which the caller frees. */
  text(text) {
    const bytes = encoder.encode(text);
    const at = this.exports.sqlite3_malloc64(BigInt(bytes.length + 1));
    if (at === 0) throw new Error('out of memory');
    this.bytes(at, bytes.length + 1).set(bytes);
    this.bytes(at + bytes.length, 1)[0] = 0;
    return at;
  }

  string(at) {
    if (at === 0) return '';
    const memory = new Uint8Array(this.exports.memory.buffer);
    return decoder.decode(memory.subarray(at, memory.indexOf(0, at)));
  }

  // ---- functions that the worker answers ----

  /** Defines npyext_remote_info, _read and _glob. */
  readUrls() {
    if (this.exports.page_read_urls(this.connection) !== 0) this.fail();
  }

  asked(at, nbytes) {
    return decoder.decode(this.bytes(at, nbytes));
  }

  /** Gives a function its result, a text or bytes. */
  answer(context, result) {
    const isText = typeof result === 'string';
    const bytes = isText ? encoder.encode(result) : result;
    const at = this.exports.sqlite3_malloc64(BigInt(bytes.length + 1));
    if (at !== 0) this.bytes(at, bytes.length).set(bytes);
    this.exports.page_answer(context, at, bytes.length, isText);
  }

  // ---- statements ----

  fail() {
    throw new Error(this.string(this.exports.sqlite3_errmsg(this.connection)));
  }

  /** Calls use(statement) for one statement after the other. */
  each(sql, use) {
    const begin = this.text(sql);
    const pointers = this.text('12345678');
    const end = begin + encoder.encode(sql).length;
    const view = () => new DataView(this.exports.memory.buffer);
    try {
      for (let at = begin; at < end; at = view().getUint32(pointers + 4, true)) {
        if (this.exports.sqlite3_prepare_v2(this.connection, at, -1, pointers, pointers + 4) !== 0) this.fail();
        const statement = view().getUint32(pointers, true);
        if (statement === 0) continue; // a comment, or nothing
        try {
          use(statement);
        } finally {
          this.exports.sqlite3_finalize(statement);
        }
      }
    } finally {
      this.exports.sqlite3_free(pointers);
      this.exports.sqlite3_free(begin);
    }
  }

  step(statement) {
    const code = this.exports.sqlite3_step(statement);
    return code === ROW || (code === DONE ? false : this.fail());
  }

  value(statement, column) {
    const x = this.exports;
    switch (x.sqlite3_column_type(statement, column)) {
      case INTEGER:
        return { kind: 'number', text: String(x.sqlite3_column_int64(statement, column)) };
      case FLOAT:
        return shownReal(x.sqlite3_column_double(statement, column));
      case TEXT: {
        const at = x.sqlite3_column_text(statement, column); // before its length is asked for
        return shownText(decoder.decode(this.bytes(at, x.sqlite3_column_bytes(statement, column))));
      }
      case BLOB: {
        const at = x.sqlite3_column_blob(statement, column);
        return shownBlob(this.bytes(at, x.sqlite3_column_bytes(statement, column)));
      }
      default:
        return { kind: 'null', text: 'NULL' };
    }
  }

  columns(statement) {
    const count = this.exports.sqlite3_column_count(statement);
    return Array.from({ length: count }, (_, i) => this.string(this.exports.sqlite3_column_name(statement, i)));
  }

  /**
   * Runs a statement: { columns, rows, count, isCounted }. Rows that are not shown are counted for a second; a
   * statement that writes files by its rows goes to its end.
   */
  result(statement) {
    const columns = this.columns(statement);
    const writes = /npy_write/i.test(this.string(this.exports.sqlite3_sql(statement)));
    const most = Math.min(SHOWN_NROWS, Math.ceil(SHOWN_NCELLS / Math.max(1, columns.length)));
    const rows = [];
    let count = 0;
    let until = Infinity;
    while (this.step(statement)) {
      count++;
      if (rows.length < most) rows.push(columns.map((_, i) => this.value(statement, i)));
      else if (until === Infinity) until = Date.now() + COUNTED_MS;
      if (!writes && count > most && count % 64 === 0 && Date.now() > until) return { columns, rows, count, isCounted: false };
    }
    return { columns, rows, count, isCounted: true };
  }

  /** The results of all statements that have columns; onResult is called as they come. */
  run(sql, onResult) {
    this.each(sql, (statement) => {
      const result = this.result(statement);
      if (result.columns.length > 0) onResult(result);
    });
  }

  /** Rows as arrays of texts, for the page itself. */
  rows(sql) {
    const rows = [];
    this.run(sql, (result) => rows.push(...result.rows.map((row) => row.map((value) => (value.kind === 'null' ? null : value.text)))));
    return rows;
  }
}
