'use strict';

// npyext for better-sqlite3 and node:sqlite: finds the package that has the library for this machine.

const fs = require('fs');
const path = require('path');

const SUFFIXES = { win32: 'dll', darwin: 'dylib' };

// Programs of musl and of glibc cannot load each other's libraries.
function isMusl() {
  if (process.platform !== 'linux') return false;
  const header = process.report.getReport().header;
  return !header.glibcVersionRuntime;
}

function platformName() {
  return `${process.platform}-${process.arch}${isMusl() ? '-musl' : ''}`;
}

/** The path of the library, its suffix included, for loadExtension and `.load`. */
function getLoadablePath() {
  const name = `npyext-${platformName()}`;
  let folder;
  try {
    folder = path.dirname(require.resolve(`${name}/package.json`));
  } catch (error) {
    throw new Error(
      `npyext: the package ${name} is not installed. It comes with npyext where there is one for this machine: ` +
        'install again without --no-optional (--omit=optional), or build npyext here: its docs/install.md says how.'
    );
  }
  const library = path.join(folder, `npyext.${SUFFIXES[process.platform] || 'so'}`);
  if (!fs.existsSync(library)) throw new Error(`npyext: ${library} is missing; install ${name} again`);
  return library;
}

/** Loads npyext into a database of better-sqlite3, or of node:sqlite that was opened with allowExtension: true. */
function load(database) {
  if (database === null || typeof database !== 'object' || typeof database.loadExtension !== 'function')
    throw new TypeError('npyext.load takes a database of better-sqlite3 or node:sqlite, which has loadExtension');
  database.loadExtension(getLoadablePath());
}

module.exports = { getLoadablePath, load };
