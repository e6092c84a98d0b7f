// The operating system of the WebAssembly: WASI preview 1 over one folder, as far as npyext and SQLite ask for it.
//
// Files that were dropped are Blobs, read slice by slice where they lie; nothing writes to them. Files that SQL makes
// are bytes in memory. A file may be put in the place of any other: the folder is the page's own, the disk is not.

const OK = 0, BADF = 8, EXIST = 20, INVAL = 28, IO = 29, ISDIR = 31, NOENT = 44, NOSPC = 51, NOSYS = 52, NOTDIR = 54, NOTEMPTY = 55, ROFS = 69;
const FOLDER = 3, FILE = 4;
const CREATE = 1, DIRECTORY = 2, EXCLUSIVE = 4, TRUNCATE = 8;
const RIGHT_TO_WRITE = 64n;
const UNLOCK = 8;
const ROOT_DESCRIPTOR = 3;

// Asking a Blob for bytes takes some 0.1 ms whatever their number: small reads next to each other share a block, and
// large ones that follow each other share a large one. What was used last stays in memory.
const BLOCK_NBYTES = 1 << 16;
const LARGE_BLOCK_NBYTES = 1 << 22;
const KEPT_NBYTES = 1 << 25;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

let lastNode = 0n;

class Folder {
  constructor() {
    this.node = ++lastNode;
    this.kind = FOLDER;
    this.size = 0;
    this.modified = Date.now();
    this.entries = new Map();
  }
}

/** The blocks of all files that were used last. */
class Blocks {
  constructor() {
    this.kept = new Map(); // the block that was used last is the last one
    this.nbytes = 0;
  }

  get(key, read) {
    let block = this.kept.get(key);
    if (block === undefined) {
      block = read();
      this.nbytes += block.length;
    }
    this.kept.delete(key);
    this.kept.set(key, block);
    for (const [oldest, { length }] of this.kept) {
      if (this.nbytes <= KEPT_NBYTES) break;
      this.kept.delete(oldest);
      this.nbytes -= length;
    }
    return block;
  }
}

/** A file on the visitor's disk. */
class DroppedFile {
  constructor(blob, system) {
    this.node = ++lastNode;
    this.kind = FILE;
    this.blob = blob;
    this.size = blob.size;
    this.modified = blob.lastModified ?? Date.now();
    this.system = system;
    this.end = 0; // of what was read last
  }

  slice(at, nbytes) {
    const bytes = new Uint8Array(new FileReaderSync().readAsArrayBuffer(this.blob.slice(at, at + nbytes)));
    this.system.counters.bytes += bytes.length;
    if (bytes.length < Math.min(nbytes, this.size - at)) throw new Error('it has become shorter');
    return bytes;
  }

  readBlocks(at, target, blockNbytes) {
    for (let done = 0; done < target.length; ) {
      const number = Math.floor((at + done) / blockNbytes);
      const block = this.system.blocks.get(`${this.node} ${blockNbytes} ${number}`, () => this.slice(number * blockNbytes, blockNbytes));
      const off = at + done - number * blockNbytes;
      const piece = block.subarray(off, off + target.length - done);
      target.set(piece, done);
      done += piece.length;
    }
  }

  /** Fills the target as far as the file goes: how many bytes. */
  read(at, target) {
    const wanted = target.subarray(0, Math.max(0, Math.min(target.length, this.size - at)));
    if (wanted.length < BLOCK_NBYTES) this.readBlocks(at, wanted, BLOCK_NBYTES);
    else if (at === this.end && wanted.length < LARGE_BLOCK_NBYTES) this.readBlocks(at, wanted, LARGE_BLOCK_NBYTES);
    else wanted.set(this.slice(at, wanted.length));
    this.end = at + wanted.length;
    return wanted.length;
  }
}

/** A file that SQL has made. */
class MadeFile {
  constructor(bytes = new Uint8Array(0)) {
    this.node = ++lastNode;
    this.kind = FILE;
    this.bytes = bytes; // with room after the end
    this.size = bytes.length;
    this.touch();
  }

  touch() {
    this.modified = Date.now();
    this.isChanged = true;
  }

  resize(size) {
    if (size > this.bytes.length) {
      const more = new Uint8Array(Math.max(size, Math.min(2 * this.bytes.length, this.bytes.length + (64 << 20))));
      more.set(this.bytes.subarray(0, this.size));
      this.bytes = more;
    }
    if (size < this.size) this.bytes.fill(0, size, this.size);
    this.size = size;
    this.touch();
  }

  read(at, target) {
    const piece = this.bytes.subarray(Math.min(at, this.size), Math.min(at + target.length, this.size));
    target.set(piece);
    return piece.length;
  }

  write(at, piece) {
    if (at + piece.length > this.size) this.resize(at + piece.length);
    this.bytes.set(piece, at);
    this.touch();
    return piece.length;
  }
}

/** What went wrong, in WASI's numbers. */
class Failure extends Error {
  constructor(code) {
    super(`WASI ${code}`);
    this.code = code;
  }
}

const fail = (code) => {
  throw new Failure(code);
};

export class System {
  /** onRead(counters) is called after reads, now and then; a read that fails is remembered in `troubles`. */
  constructor(onRead) {
    this.root = new Folder();
    this.descriptors = [null, null, null, { file: this.root, at: 0 }];
    this.counters = { bytes: 0 };
    this.troubles = [];
    this.blocks = new Blocks();
    this.onRead = onRead;
    this.memory = null;
    const calls = {};
    for (const name of Object.getOwnPropertyNames(Calls.prototype)) {
      if (name !== 'constructor') calls[name] = (...args) => this.answer(name, args);
    }
    this.calls = new Calls(this);
    // What a library links and never calls here is there as well, and says so.
    this.imports = new Proxy(calls, { get: (known, name) => known[name] ?? (() => NOSYS) });
  }

  answer(name, args) {
    try {
      return this.calls[name](...args) ?? OK;
    } catch (error) {
      if (error instanceof Failure) return error.code;
      if (error instanceof RangeError) return NOSPC; // an ArrayBuffer that there is no memory for
      throw error;
    }
  }

  // ---- what the worker asks for ----

  /** Puts a dropped file, or one that was made before, at a path; folders are made. */
  put(path, blob, isMade) {
    const parts = path.split('/');
    const name = parts.pop();
    let folder = this.root;
    for (const part of parts) {
      if (!(folder.entries.get(part) instanceof Folder)) folder.entries.set(part, new Folder());
      folder = folder.entries.get(part);
    }
    const made = () => new MadeFile(new Uint8Array(new FileReaderSync().readAsArrayBuffer(blob)));
    folder.entries.set(name, isMade ? made() : new DroppedFile(blob, this));
  }

  remove(path) {
    const { folder, name } = this.find(this.root, path);
    folder?.entries.delete(name);
  }

  /** [path, file] of all that SQL has made. */
  made(folder = this.root, prefix = '') {
    return [...folder.entries].flatMap(([name, entry]) =>
      entry instanceof Folder ? this.made(entry, `${prefix}${name}/`) : entry instanceof MadeFile ? [[prefix + name, entry]] : [],
    );
  }

  // ---- paths and descriptors ----

  /** The entry at a path and its place: { folder, name, entry }; folder is missing for the root itself. */
  find(folder, path) {
    const way = [folder];
    let place = { folder: null, name: '', entry: folder };
    for (const part of path.split('/')) {
      if (part === '' || part === '.') continue;
      if (part === '..') {
        if (way.length > 1) way.pop();
        place = { folder: way[way.length - 2] ?? null, name: '', entry: way[way.length - 1] };
        continue;
      }
      if (!place.entry) return fail(NOENT);
      if (!(place.entry instanceof Folder)) return fail(NOTDIR);
      place = { folder: place.entry, name: part, entry: place.entry.entries.get(part) };
      if (place.entry) way.push(place.entry);
    }
    if (path.endsWith('/') && place.entry && !(place.entry instanceof Folder)) return fail(NOTDIR);
    return place;
  }

  opened(descriptor) {
    return this.descriptors[descriptor] ?? fail(BADF);
  }

  folderOf(descriptor) {
    const { file } = this.opened(descriptor);
    return file instanceof Folder ? file : fail(NOTDIR);
  }

  writable(descriptor) {
    const open = this.opened(descriptor);
    return open.file instanceof MadeFile ? open : fail(open.file instanceof Folder ? ISDIR : ROFS);
  }

  /** The lowest number that is free, as POSIX has it, for what was opened. */
  number(open) {
    let descriptor = ROOT_DESCRIPTOR + 1;
    while (this.descriptors[descriptor]) descriptor++;
    this.descriptors[descriptor] = open;
    return descriptor;
  }

  close(descriptor) {
    const open = this.opened(descriptor);
    this.descriptors[descriptor] = null;
    if (open.file.holder === open && !this.descriptors.includes(open)) open.file.holder = null;
  }

  // ---- what WASI lacks ----

  /** A second descriptor of what was opened, or -1. */
  duplicate(descriptor) {
    const open = this.descriptors[descriptor];
    return open ? this.number(open) : -1;
  }

  /** flock(2): 0, or 1 when what was opened elsewhere has the file. */
  lock(descriptor, operation) {
    const open = this.descriptors[descriptor];
    const holder = open?.file.holder;
    if (!open) return 1;
    if (holder && holder !== open) return (operation & UNLOCK) !== 0 ? 0 : 1;
    open.file.holder = (operation & UNLOCK) !== 0 ? null : open;
    return 0;
  }

  // ---- memory, which may have moved since the last call ----

  view() {
    return new DataView(this.memory.buffer);
  }

  bytes(at, nbytes) {
    return new Uint8Array(this.memory.buffer, at, nbytes);
  }

  text(at, nbytes) {
    return decoder.decode(this.bytes(at, nbytes));
  }

  /** Lets move(piece, off) read or write one piece of memory after the other, and notes how many bytes it moved. */
  move(vector, count, off, done, move) {
    const view = this.view();
    let moved = 0;
    for (let i = 0; i < count; i++) {
      const piece = this.bytes(view.getUint32(vector + 8 * i, true), view.getUint32(vector + 8 * i + 4, true));
      const n = move(piece, off + moved);
      moved += n;
      if (n < piece.length) break;
    }
    view.setUint32(done, moved, true);
    return moved;
  }

  read(file, vector, count, off, done) {
    if (file instanceof Folder) fail(ISDIR);
    try {
      return this.move(vector, count, off, done, (piece, at) => file.read(at, piece));
    } catch (error) {
      this.troubles.push(error.message);
      return fail(IO);
    } finally {
      this.onRead(this.counters);
    }
  }

  describe(file, at) {
    const view = this.view();
    const time = BigInt(Math.floor(file.modified)) * 1000000n;
    this.bytes(at, 64).fill(0);
    view.setBigUint64(at + 8, file.node, true);
    view.setUint8(at + 16, file.kind);
    view.setBigUint64(at + 24, 1n, true);
    view.setBigUint64(at + 32, BigInt(file.size), true);
    for (const field of [40, 48, 56]) view.setBigUint64(at + field, time, true);
  }
}

/** WASI's calls by their names. One that gives nothing back has succeeded. */
class Calls {
  constructor(system) {
    this.system = system;
  }

  environ_sizes_get(count, nbytes) {
    this.system.view().setUint32(count, 0, true);
    this.system.view().setUint32(nbytes, 0, true);
  }

  environ_get() {}

  clock_time_get(clock, precision, time) {
    const now = clock === 0 ? Date.now() : performance.now();
    this.system.view().setBigUint64(time, BigInt(Math.floor(now * 1000)) * 1000n, true);
  }

  random_get(at, nbytes) {
    for (let done = 0; done < nbytes; done += 65536) crypto.getRandomValues(this.system.bytes(at + done, Math.min(65536, nbytes - done)));
  }

  /** A pause, which is not needed here: a caller that waits asks again. */
  poll_oneoff(subscription, event, count, nevents) {
    const view = this.system.view();
    this.system.bytes(event, 32).fill(0);
    view.setBigUint64(event, view.getBigUint64(subscription, true), true);
    view.setUint32(nevents, 1, true);
  }

  proc_exit(code) {
    throw new Error(`the program has ended itself (${code})`);
  }

  fd_prestat_get(descriptor, at) {
    if (descriptor !== ROOT_DESCRIPTOR) fail(BADF);
    this.system.view().setUint32(at, 0, true);
    this.system.view().setUint32(at + 4, 1, true);
  }

  fd_prestat_dir_name(descriptor, at) {
    if (descriptor !== ROOT_DESCRIPTOR) fail(BADF);
    this.system.bytes(at, 1)[0] = 0x2f;
  }

  fd_fdstat_get(descriptor, at) {
    const { file } = this.system.opened(descriptor);
    this.system.bytes(at, 24).fill(0);
    this.system.view().setUint8(at, file.kind);
    for (const field of [8, 16]) this.system.view().setBigUint64(at + field, 0xffffffffn, true);
  }

  fd_fdstat_set_flags() {}

  fd_filestat_get(descriptor, at) {
    this.system.describe(this.system.opened(descriptor).file, at);
  }

  fd_filestat_set_size(descriptor, size) {
    this.system.writable(descriptor).file.resize(Number(size));
  }

  fd_sync() {}

  fd_close(descriptor) {
    this.system.close(descriptor);
  }

  fd_pread(descriptor, vector, count, off, done) {
    this.system.read(this.system.opened(descriptor).file, vector, count, Number(off), done);
  }

  fd_read(descriptor, vector, count, done) {
    const open = this.system.opened(descriptor);
    open.at += this.system.read(open.file, vector, count, open.at, done);
  }

  fd_pwrite(descriptor, vector, count, off, done) {
    const { file } = this.system.writable(descriptor);
    this.system.move(vector, count, Number(off), done, (piece, at) => file.write(at, piece));
  }

  fd_write(descriptor, vector, count, done) {
    if (descriptor < ROOT_DESCRIPTOR) {
      this.system.move(vector, count, 0, done, (piece) => (console.log(decoder.decode(piece.slice())), piece.length));
      return;
    }
    const open = this.system.writable(descriptor);
    open.at += this.system.move(vector, count, open.at, done, (piece, at) => open.file.write(at, piece));
  }

  fd_seek(descriptor, off, whence, at) {
    const open = this.system.opened(descriptor);
    const from = whence === 0 ? 0 : whence === 1 ? open.at : open.file.size;
    if (from + Number(off) < 0) fail(INVAL);
    open.at = from + Number(off);
    this.system.view().setBigUint64(at, BigInt(open.at), true);
  }

  fd_readdir(descriptor, at, nbytes, cookie, used) {
    const folder = this.system.folderOf(descriptor);
    const open = this.system.opened(descriptor);
    // The names as they were at the beginning, so that one that comes or goes meanwhile moves none.
    if (cookie === 0n || !open.listed) open.listed = [['.', folder], ['..', folder], ...folder.entries];
    let done = 0;
    for (let i = Number(cookie); i < open.listed.length && done < nbytes; i++) {
      const [name, entry] = open.listed[i];
      const text = encoder.encode(name);
      const record = new Uint8Array(24 + text.length);
      const view = new DataView(record.buffer);
      view.setBigUint64(0, BigInt(i + 1), true);
      view.setBigUint64(8, entry.node, true);
      view.setUint32(16, text.length, true);
      view.setUint8(20, entry.kind);
      record.set(text, 24);
      const piece = record.subarray(0, nbytes - done);
      this.system.bytes(at + done, piece.length).set(piece);
      done += piece.length;
    }
    this.system.view().setUint32(used, done, true);
  }

  /** Where a path that a call was given leads: { folder, name, entry }. */
  place(descriptor, at, nbytes) {
    return this.system.find(this.system.folderOf(descriptor), this.system.text(at, nbytes));
  }

  path_filestat_get(descriptor, flags, path, nbytes, at) {
    this.system.describe(this.place(descriptor, path, nbytes).entry ?? fail(NOENT), at);
  }

  path_open(descriptor, lookup, path, nbytes, flags, rights, inheriting, fileFlags, at) {
    let { folder, name, entry } = this.place(descriptor, path, nbytes);
    if (entry && (flags & EXCLUSIVE) !== 0) fail(EXIST);
    if (!entry && (flags & CREATE) === 0) fail(NOENT);
    if (!entry) folder.entries.set(name, (entry = new MadeFile()));
    if ((flags & DIRECTORY) !== 0 && !(entry instanceof Folder)) fail(NOTDIR);
    const writes = (rights & RIGHT_TO_WRITE) !== 0n && (flags & DIRECTORY) === 0;
    if (writes && entry instanceof DroppedFile) fail(ROFS);
    if ((flags & TRUNCATE) !== 0) entry.resize(0);
    this.system.view().setUint32(at, this.system.number({ file: entry, at: 0 }), true);
  }

  path_readlink(descriptor, path, nbytes) {
    fail(this.place(descriptor, path, nbytes).entry ? INVAL : NOENT); // there are no links
  }

  path_link(descriptor, flags, path, nbytes, newDescriptor, newPath, newNbytes) {
    const { entry } = this.place(descriptor, path, nbytes);
    const to = this.place(newDescriptor, newPath, newNbytes);
    if (!entry) fail(NOENT);
    if (to.entry) fail(EXIST);
    to.folder.entries.set(to.name, entry);
  }

  path_rename(descriptor, path, nbytes, newDescriptor, newPath, newNbytes) {
    const from = this.place(descriptor, path, nbytes);
    const to = this.place(newDescriptor, newPath, newNbytes);
    if (!from.entry) fail(NOENT);
    if (to.entry instanceof Folder) fail(ISDIR);
    from.folder.entries.delete(from.name);
    to.folder.entries.set(to.name, from.entry);
    if (from.entry instanceof MadeFile) from.entry.isChanged = true;
  }

  path_unlink_file(descriptor, path, nbytes) {
    const { folder, name, entry } = this.place(descriptor, path, nbytes);
    if (!entry) fail(NOENT);
    if (entry instanceof Folder) fail(ISDIR);
    folder.entries.delete(name);
  }

  path_remove_directory(descriptor, path, nbytes) {
    const { folder, name, entry } = this.place(descriptor, path, nbytes);
    if (!(entry instanceof Folder) || !folder) fail(entry ? NOTDIR : NOENT);
    if (entry.entries.size > 0) fail(NOTEMPTY);
    folder.entries.delete(name);
  }
}
