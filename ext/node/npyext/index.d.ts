/** The path of the library, its suffix included, for loadExtension and `.load`. */
export function getLoadablePath(): string;

interface Database {
  loadExtension(path: string): unknown;
}

/** Loads npyext into a database of better-sqlite3, or of node:sqlite that was opened with allowExtension: true. */
export function load(database: Database): void;
