-- The exact text of errors.
.headers on
.nullvalue NULL

-- .npy files written here: the header's text, and eight bytes of data.
CREATE TEMP TABLE headers(id INTEGER PRIMARY KEY, header TEXT);
CREATE TEMP VIEW files AS
SELECT id, header, CAST(x'934E554D505901007600' || printf('%-117s', header) || char(10) || zeroblob(8) AS BLOB) AS npy
  FROM headers;

.print ---- headers of .npy
INSERT INTO headers(header) VALUES
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (4,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (5,), }'),
  (''),
  ('[]'),
  ('{''descr'': ''<i2'', ''shape'': (4,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (4,), ''x'': 1}'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (4,), } 1'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (4,)'),
  ('{''descr'': ''<i2'' ''fortran_order'': False, ''shape'': (4,)}'),
  ('{''descr'', ''fortran_order'': False, ''shape'': (4,)}'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (04,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (2 + 2,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (4.0,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (-,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (0x,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': false, ''shape'': (4,), }'),
  ('{''descr'': ''<i2, ''fortran_order'': False, ''shape'': (4,), }'),
  ('{''descr'': ''\xg1i2'', ''fortran_order'': False, ''shape'': (4,), }'),
  ('{''descr'': ''\N{DIGIT ONE}'', ''fortran_order'': False, ''shape'': (4,), }'),
  ('{''descr'': b''<'' ''i2'', ''fortran_order'': False, ''shape'': (4,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': 0, ''shape'': (4,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': 4, }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': [4], }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (True,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (-4,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (9223372036854775808,), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (9223372036854775807, 2), }'),
  ('{''descr'': ''<i2'', ''fortran_order'': False, ''shape'': (9223372036854775807,), }');
SELECT header, shape, error FROM files, npy_meta(files.npy, 'row') ORDER BY id;
-- The same as an error.
SELECT shape FROM files, npy_meta(files.npy) WHERE id = 2;
DELETE FROM headers;

.print ---- dtypes
INSERT INTO headers(header)
SELECT '{''descr'': ' || value || ', ''fortran_order'': False, ''shape'': (1,), }'
  FROM json_each('["''<i3''", "''i2,f4''", "''''", "''T''", "''S-5''", "''S2147483648''", "''U536870912''", "''<M8[fortnight]''",
    "''<i4[s]''", "b''<i2''", "None", "(''<i2'', (2,))", "{''a'': ''<i2''}", "[''a'']", "[(1, ''<i2'')]", "[((None, ''a''), ''<i2'')]",
    "[(''a'', ''<i2''), (''a'', ''<i2'')]", "[((''a'', ''b''), ''<i2''), (''a'', ''<i2'')]", "[(''a'', ''<i2'', -1)]",
    "[(''a'', ''<i2'', ''x'')]", "[(''a'', ''<i2'', (65536, 32768))]", "[(''a'', ''S2147483647''), (''b'', ''S1'')]"]');
SELECT error FROM files, npy_meta(files.npy, 'row') ORDER BY id;
DELETE FROM headers;

.print ---- the bytes before the header
SELECT error FROM npy_meta(x'934E554D5059', 'row');
SELECT error FROM npy_meta(x'934E554D50590100', 'row');
SELECT error FROM npy_meta(x'934E554D505901007600', 'row');
SELECT error FROM npy_meta(x'934E554D50590200010010007B7D', 'row');
SELECT error FROM npy_meta(x'934E554D505904007600', 'row');
SELECT error FROM npy_meta(x'934E554D5059010102007B7D', 'row');
SELECT error FROM npy_meta(x'934E554D505903000300000023FF0A', 'row');
SELECT error FROM npy_meta(CAST(x'934E554D50590100' || x'2C01' || printf('%.300c', '(') AS BLOB), 'row');
SELECT error FROM npy_meta(CAST(x'934E554D50590100' || x'0300' || '{}' || x'00' AS BLOB), 'row');

.print ---- files
SELECT * FROM npy_meta('gone.npy');
SELECT * FROM npy_meta('y.npy/below');
SELECT * FROM npy_meta('runs');
SELECT * FROM npy_meta('odd/fifo.npy');
SELECT * FROM npy_meta('/dev/null');
SELECT * FROM npy_meta('experiments.csv');
SELECT * FROM npy_meta('survey/empty.npy');
SELECT * FROM npy_meta('a' || char(0) || 'b');
SELECT * FROM npy_meta('two' || char(10) || 'lines');

.print ---- patterns
SELECT * FROM npy_meta('{a');
SELECT * FROM npy_meta('a{b}}*');
SELECT * FROM npy_meta('{1..x}');
SELECT * FROM npy_meta('{0..9999999}');

.print ---- arguments
SELECT * FROM npy_rows;
SELECT * FROM npy_rows('');
SELECT * FROM npy_rows(1);
SELECT * FROM npy_rows('w.npz', 'c');
SELECT * FROM npy_rows('w.npz', 2);
SELECT * FROM npy_rows('w.npz', -1);
SELECT * FROM npy_rows('w.npz', 0.5);
SELECT * FROM npy_rows('w.npz', x'77');
SELECT * FROM npy_rows('empty.npz', 'a');
SELECT * FROM npy_rows('multi.ten', 'y');
SELECT * FROM npy_rows('mixed.npz', 'readme.txt');
SELECT * FROM npy_rows('y.npy') WHERE on_error = 'row';
SELECT * FROM npy_rows('y.npy') WHERE on_error = 'stop';
SELECT * FROM npy_meta('y.npy', 'stop');

.print ---- objects
SELECT data FROM npy_rows('objects/mixed.npy');
SELECT * FROM npy_rows('objects/mixed.npy') WHERE astype = 'f4';
SELECT npy_slice(array, ':2') FROM npy_file('objects/mixed.npy');
SELECT npy_json(substr(readfile('objects/mixed.npy'), 1, 300));

.print ---- zips
SELECT * FROM npy_rows('encrypted.npz');
SELECT * FROM npy_rows('bzip2.npz');
SELECT * FROM npy_rows('lzma.npz');
SELECT * FROM npy_rows('survey/truncated.npz');
-- w.npz with some of its bytes replaced, by position in its first central record.
CREATE TEMP TABLE zip AS SELECT bytes, instr(bytes, x'504B0102') AS record FROM (SELECT readfile('w.npz') AS bytes);
CREATE TEMP TABLE faults(id INTEGER PRIMARY KEY, fault TEXT, at INTEGER, replacement BLOB);
INSERT INTO faults(fault, at, replacement) SELECT column1, column2 + record, column3 FROM zip, (VALUES
  ('patched data', 8, x'20'), ('method 97', 10, x'61'), ('method 50', 10, x'32'), ('compressed size', 20, x'00000100'),
  ('size', 24, x'01000000'), ('zip64 size without a field', 24, x'FFFFFFFF'), ('place', 42, x'05000000'), ('no record', 0, x'58585858'));
INSERT INTO faults(fault, at, replacement) SELECT 'an item', 36 + 130, x'07';
SELECT fault, name, error
  FROM faults, zip, npy_meta(CAST(substr(bytes, 1, at - 1) || replacement || substr(bytes, at + length(replacement)) AS BLOB), 'row')
 WHERE error IS NOT NULL ORDER BY id;
SELECT value FROM faults, zip, npy_rows(CAST(substr(bytes, 1, at - 1) || replacement || substr(bytes, at + length(replacement)) AS BLOB))
 WHERE fault = 'an item';
-- Faults of a deflate stream: its CRC-32, its size, and its bytes.
CREATE TEMP TABLE deflated AS SELECT bytes, instr(bytes, x'504B0102') AS record FROM (SELECT readfile('deflated.npz') AS bytes);
SELECT value FROM deflated, npy_rows(CAST(substr(bytes, 1, record + 15) || x'00000000' || substr(bytes, record + 20) AS BLOB), 'w');
SELECT value FROM deflated, npy_rows(CAST(substr(bytes, 1, record + 23) || x'97000000' || substr(bytes, record + 28) AS BLOB), 'w');
SELECT value FROM deflated, npy_rows(CAST(substr(bytes, 1, record + 23) || x'99000000' || substr(bytes, record + 28) AS BLOB), 'w');
SELECT value FROM deflated, npy_rows(CAST(substr(bytes, 1, 35) || x'07' || substr(bytes, 37) AS BLOB), 'w');

.print ---- .ten
-- multi.ten with eight bytes replaced.
CREATE TEMP TABLE ten AS SELECT readfile('multi.ten') AS bytes;
DELETE FROM faults;
INSERT INTO faults(fault, at, replacement) VALUES
  ('magic of a header', 161, x'0000000000000000'), ('negative byte count', 169, x'FFFFFFFFFFFFFFFF'),
  ('byte count of 20', 169, x'1400000000000000'), ('giant byte count', 169, x'0000000000000070'),
  ('dtype', 177, x'6639000000000000'), ('negative rank', 193, x'FFFFFFFFFFFFFFFF'), ('rank above the words', 193, x'0500000000000000'),
  ('negative dimension', 201, x'FEFFFFFFFFFFFFFF'), ('more items than data', 201, x'0400000000000000'),
  ('magic of the data', 241, x'0000000000000000'), ('overflow', 201, x'FFFFFFFFFFFFFF7F');
SELECT fault, name, error
  FROM faults, ten, npy_meta(CAST(substr(bytes, 1, at - 1) || replacement || substr(bytes, at + 8) AS BLOB), 'row')
 WHERE error IS NOT NULL ORDER BY id;

.print ---- trust and plans
CREATE VIEW stored AS SELECT value FROM npy_rows('y.npy');
SELECT * FROM stored;
SELECT * FROM npy_meta(r.path) AS m, npy_rows(m.path) AS r;
SELECT npyext_version(1);
