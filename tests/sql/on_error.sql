-- on_error: its defaults, and what each choice makes of a fault.
.headers on
.nullvalue NULL

.print ---- a pattern or a list: a fault is a row
SELECT path, name, idx, format, shape, file_size, error FROM npy_meta('survey/*');
SELECT path, error FROM npy_meta('["gone.npy", "survey/a.npy"]');
SELECT path, error FROM npz_members('survey/*.npz');
SELECT path, error FROM ten_arrays('["gone.ten", "multi.ten"]') GROUP BY path, error;

.print ---- one path or a BLOB: a fault is an error
SELECT path FROM npy_meta('survey/truncated.npy');
SELECT path FROM npy_meta('gone.npy');
SELECT path FROM npy_meta(zeroblob(10));

.print ---- row
SELECT path, name, idx, dtype, shape, data_offset, error FROM npy_meta('survey/truncated.npy', 'row');
SELECT path, name, idx, parts, stem, file_size, mtime, error FROM npy_meta('gone.npy', 'row');
SELECT path, idx, error FROM npy_meta(zeroblob(10), 'row');
SELECT path, error FROM npy_meta('odd', 'row');
SELECT path, error FROM npy_meta('odd/fifo.npy', 'row');
SELECT path, error FROM npy_meta('odd/dangling.npy', 'row');

.print ---- skip
CREATE TEMP TABLE before AS SELECT json_extract(npyext_counters(), '$.files_skipped') AS skipped;
SELECT path, name, error FROM npy_meta('survey/*', 'skip');
SELECT json_extract(npyext_counters(), '$.files_skipped') - skipped AS skipped FROM before;
SELECT count(*) FROM npy_meta('gone.npy', 'skip');
SELECT path, name, row, value FROM npy_rows('survey/*') WHERE on_error = 'skip';

-- npy_rows leaves the rest of a file out, npy_meta only the entry.
CREATE TEMP TABLE damaged AS
SELECT CAST(substr(b, 1, at - 1) || 'X' || substr(b, at + 1) AS BLOB) AS npz
  FROM (SELECT readfile('w.npz') AS b, instr(readfile('w.npz'), CAST('descr' AS BLOB)) AS at);
SELECT name, shape FROM damaged, npy_meta(damaged.npz, 'skip');
SELECT name, row, value FROM damaged, npy_rows(damaged.npz) AS r WHERE r.on_error = 'skip';

.print ---- raise
SELECT path FROM npy_meta('survey/*', 'raise');
-- npy_rows has no column for errors: it raises by default, after the rows before the fault.
SELECT path, row, value FROM npy_rows('survey/*');
SELECT row FROM npy_rows('survey/*') WHERE on_error = 'row';

.print ---- what is not read is not found faulty
-- Opening is enough for these columns of npz_members; shape needs the entries.
SELECT path, name, uncompressed_size FROM npz_members('survey/z.npz', 'raise');
SELECT path, name, shape FROM npz_members('survey/z.npz', 'raise');

.print ---- other values
SELECT path FROM npy_meta('y.npy', 'ignore');
SELECT path FROM npy_meta('y.npy', 1);
SELECT path FROM npy_meta('y.npy', 'ROW');
SELECT path FROM npy_meta('y.npy', '');
SELECT count(*) FROM npy_meta('y.npy', NULL);
