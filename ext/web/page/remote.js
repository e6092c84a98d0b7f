// Files elsewhere, read by the browser: the three questions that npyext has its host answer (ext/core/remote_host.h).
//
// A worker may wait for an answer, one at a time. What is sent needs no leave of the server in advance (no preflight):
// HEAD and GET, and no header but Range, for which the browser also asks for bytes that are not compressed. So there is
// no If-Match; a version that is not the one asked for shows in the answer.

const NTRIES = 3;
const FIRST_PAUSE_MS = 300;
const PATIENCE_MS = 60000;
const LEAST_BYTES_PER_MS = 50;
const isTransient = (status) => status === 429 || (status >= 500 && status !== 501);
const isMissing = ({ status }) => status === 404 || status === 410;

const CHANGED = 'changed';

// npyext shows some 200 characters of a text, and nothing after a question mark.
const NO_LISTING = 'HTTP lists no files: name each URL, or put what differs into braces, {a,b} or {000..127}';
const NOT_LISTED = 'this page asks only servers that a URL in its list names: add this one there';
const NO_ANSWER = 'no answer that this page may read: the server must send Access-Control-Allow-Origin (CORS), with a 404, too, which this may be; an https page reads no http; or the network failed';
const BROKEN_OFF = 'the connection failed or ended early, or the answer has no Access-Control-Allow-Origin (CORS), which the server must send with each';
const NO_VERSION = 'a change would go unnoticed, as neither ETag nor Last-Modified can be read: the server must send Access-Control-Expose-Headers: ETag, Content-Range';
const NO_LENGTH = 'its length cannot be read: the server must answer HEAD with Content-Length, or send Access-Control-Expose-Headers: ETag, Content-Range';

/** What is to be said, in words that follow the URL. */
class Failure extends Error {}

function fail(words) {
  throw new Failure(words);
}

function inWords(ask) {
  try {
    return ask();
  } catch (error) {
    return error instanceof Failure ? error.message : `${error.name}: ${error.message}`;
  }
}

/** Workers cannot sleep where memory is not shared. */
function pause(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Those that the server lets this page read. */
function headersOf(request) {
  const lines = request.getAllResponseHeaders().split('\r\n').filter(Boolean);
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]));
}

function originOf(url) {
  try {
    return new URL(url).origin;
  } catch {
    return '';
  }
}

const versionOf = ({ headers }) => headers.get('etag') ?? headers.get('last-modified');

function check({ status }) {
  if (status === 401 || status === 403) fail(`the server answers ${status}: this page sends no credentials; a signed URL is refused when it has expired`);
  if (isTransient(status)) fail(`the server answers ${status}, ${NTRIES} times`);
  if (status !== 200 && status !== 206) fail(`the server answers ${status}`);
}

export class Remote {
  constructor(onRead) {
    this.onRead = onRead;
    this.listed = new Map(); // URL or pattern -> its server
    this.counters = { requests: 0, bytes: 0 };
    this.withoutHead = new Set(); // servers that do not answer HEAD
  }

  // ---- the list ----

  add(url) {
    this.listed.set(url, originOf(url));
  }

  /** Whether it was there. */
  remove(url) {
    return this.listed.delete(url);
  }

  serverOf(url) {
    const server = originOf(url);
    if (!/^https?:/.test(server)) fail('a browser reads only https:// and http://');
    if (![...this.listed.values()].includes(server)) fail(NOT_LISTED);
    return server;
  }

  // ---- requests ----

  /** { status, headers, body }, or null: the browser does not say why. What may be over soon is asked again. */
  request(method, url, range, nbytes = 0) {
    for (let n = 1; ; n++) {
      const request = new XMLHttpRequest();
      request.open(method, url, false);
      request.responseType = 'arraybuffer';
      request.timeout = PATIENCE_MS + nbytes / LEAST_BYTES_PER_MS;
      if (range) request.setRequestHeader('Range', `bytes=${range}`);
      this.counters.requests++;
      try {
        request.send();
      } catch (error) {
        if (error.name !== 'TimeoutError') return null;
        fail(`no answer in ${Math.round(request.timeout / 1000)} s`);
      }
      const body = new Uint8Array(request.response ?? new ArrayBuffer(0));
      this.counters.bytes += body.length;
      this.onRead();
      if (n === NTRIES || !isTransient(request.status)) return { status: request.status, headers: headersOf(request), body };
      pause(FIRST_PAUSE_MS * n ** 2);
    }
  }

  /** The answer to HEAD, unless GET could say more. A range of an empty file is refused, and only then left out. */
  head(url, server) {
    if (this.withoutHead.has(server)) return null;
    let head = this.request('HEAD', url, '0-');
    if (head?.status === 416) head = this.request('HEAD', url, null);
    if (head === null) return null;
    const isAll = isMissing(head) || isTransient(head.status) || (head.status < 300 && head.headers.has('content-length'));
    return isAll ? head : null;
  }

  /** [size, version]; null: there is no such file. */
  look(url) {
    const server = this.serverOf(url);
    const head = this.head(url, server);
    const answer = head ?? this.request('GET', url, '0-0') ?? fail(NO_ANSWER);
    if (isMissing(answer)) return null;
    check(answer);
    if (!head && answer.status === 200) fail('the server answers 200, the whole file, to a request for one byte; npyext needs ranges (206)');
    const size = head ? head.headers.get('content-length') : /\/(\d+)$/.exec(answer.headers.get('content-range'))?.[1];
    if (!head && size) this.withoutHead.add(server);
    return [Number(size ?? fail(NO_LENGTH)), versionOf(answer) ?? fail(NO_VERSION)];
  }

  part([url, version, off, nbytes]) {
    this.serverOf(url);
    const range = `${off}-${off + nbytes - 1}`;
    const answer = this.request('GET', url, range, nbytes) ?? fail(BROKEN_OFF);
    const { status, headers, body } = answer;
    const found = versionOf(answer);
    if (isMissing(answer) || ([200, 206, 416].includes(status) && found !== undefined && found !== version)) fail(CHANGED);
    check(answer);
    if (found === undefined) fail(NO_VERSION);
    if (status === 200 && !(off === 0 && body.length === nbytes)) fail(`the server answers 200, the whole file, to a request for bytes ${range}; npyext needs ranges (206)`);
    if (status === 206 && !(headers.get('content-range') ?? `bytes ${range}/`).startsWith(`bytes ${range}/`)) fail(`the server answers with other bytes (${headers.get('content-range')}) than ${range}`);
    if (body.length !== nbytes) fail(`the server returned ${body.length} bytes where ${nbytes} were asked for`);
    return body;
  }

  // ---- the questions, whose answers are texts or bytes ----

  info(urls) {
    const looked = JSON.parse(urls).map((url) => inWords(() => this.look(url)));
    return JSON.stringify(looked);
  }

  read(ranges) {
    const asked = JSON.parse(ranges);
    const bytes = new Uint8Array(asked.reduce((sum, [, , , nbytes]) => sum + nbytes, 0));
    let done = 0;
    for (const each of asked) {
      bytes.set(this.part(each), done);
      done += each[3];
    }
    return bytes;
  }

  glob() {
    return NO_LISTING;
  }

  /** question: 0 info, 1 read, 2 glob */
  answer(question, asked) {
    return inWords(() => [this.info, this.read, this.glob][question].call(this, asked));
  }
}
