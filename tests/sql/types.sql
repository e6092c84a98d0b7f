-- The value of every dtype: alone, and in JSON.
.headers on
.nullvalue NULL

SELECT replace(path, 'types/', '') AS path, row, typeof(value) AS type,
       CASE typeof(value) WHEN 'blob' THEN quote(value) ELSE value END AS value, hex(data) AS data
  FROM npy_rows('types/*.npy');

.print ---- structured
SELECT replace(path, 'structured/', '') AS path, row, value, hex(data) AS data FROM npy_rows('structured/*.npy');

-- Arrays written here: descr, shape and the hexadecimal digits of the data.
CREATE TEMP TABLE arrays(id INTEGER PRIMARY KEY, descr, shape, data);
CREATE TEMP VIEW files AS
SELECT id, descr,
       CAST(x'934E554D50590100F600'
            || printf('%-245s', '{''descr'': ' || descr || ', ''fortran_order'': False, ''shape'': ' || shape || ', }')
            || char(10) || data AS BLOB) AS npy
  FROM arrays;

.print ---- in JSON
INSERT INTO arrays(descr, shape, data) VALUES
  ('''|b1''', '(1, 3)', x'000107'),
  ('''<i8''', '(1, 2)', x'FFFFFFFFFFFFFF7F' || x'0000000000000080'),
  ('''<u8''', '(1, 2)', x'FFFFFFFFFFFFFF7F' || x'0000000000000080'),
  ('''<f2''', '(1, 3)', x'662E' || x'FF7B' || x'007E'),
  ('''<f4''', '(1, 4)', x'CDCCCC3D' || x'F9021550' || x'0000807F' || x'000080FF'),
  ('''<f8''', '(1, 4)', x'9A9999999999B93F' || x'0080E03779C34143' || x'0000000000000080' || x'000000000000F87F'),
  ('''<f16''', '(1, 1)', x'35C26821A2DA0FC90040000000000000'),
  ('''|f1''', '(1, 3)', x'3C7C7F'),
  ('''<c8''', '(1, 2)', x'0000803F00000040' || x'0000C07F0000807F'),
  ('''<M8[s]''', '(1, 2)', x'0500000000000000' || x'0000000000000080'),
  ('''<m8[s]''', '(1, 2)', x'0500000000000000' || x'0000000000000080'),
  ('''|S2''', '(1, 3)', x'6162' || x'FFFE' || x'6100'),
  ('''<U1''', '(1, 3)', x'7E010000' || x'00D80000' || x'22000000'),
  ('''|V2''', '(1, 2)', x'0102' || x'6162');
SELECT descr, value, hex(data) AS data FROM files, npy_rows(files.npy) ORDER BY id;
-- SQLite's JSON functions read the infinities back.
SELECT descr, json_extract(value, '$[2]') AS third FROM files, npy_rows(files.npy) WHERE descr = '''<f4''';
DELETE FROM arrays;

.print ---- units of time
INSERT INTO arrays(descr, shape, data)
SELECT '''<M8' || CASE value WHEN '' THEN '' ELSE '[' || value || ']' END || '''', '(3,)',
       x'0100000000000000' || x'FFFFFFFFFFFFFFFF' || x'0000000000000080'
  FROM json_each('["Y","M","W","D","h","m","s","ms","us","ns","ps","fs","as","25s","s/1000","generic",""]');
SELECT descr, row, typeof(value) AS type, value FROM files, npy_rows(files.npy) ORDER BY id, row;
DELETE FROM arrays;

.print ---- texts
INSERT INTO arrays(descr, shape, data) VALUES
  ('''|S4''', '(4,)', x'61006200' || x'C5BE0000' || x'FF000000' || x'00000000'),
  ('''<U2''', '(3,)', x'4100000000000000' || x'00D8000041000000' || x'0000000000000000'),
  ('''|V2''', '(2,)', x'0000' || x'6100'),
  ('''|S0''', '(1,)', x''),
  ('[]', '(1,)', x'');
SELECT descr, row, typeof(value) AS type, hex(value) AS value FROM files, npy_rows(files.npy) ORDER BY id, row;
DELETE FROM arrays;

.print ---- 80-bit floats of 16 and of 12 bytes, complex ones
INSERT INTO arrays(descr, shape, data) VALUES
  ('''<f12''', '(1,)', x'00000000000000C0FF3F0000'),
  ('''<f16''', '(2,)', x'00000000000000C0FF3F' || x'A1A2A3A4A5A6' || x'00000000000000C0FF7F' || x'000000000000'),
  ('''>f16''', '(1,)', x'000000000000' || x'3FFFC000000000000000'),
  ('''<c32''', '(1,)', x'00000000000000C0FF3F' || x'000000000000' || x'0000000000000080FFBF' || x'000000000000');
SELECT descr, row, typeof(value) AS type, value, hex(data) AS data FROM files, npy_rows(files.npy) ORDER BY id, row;
DELETE FROM arrays;

.print ---- fields of every kind in one item
INSERT INTO arrays(descr, shape, data) VALUES
  ('[(''i'', ''>i2''), (''d'', ''<M8[D]''), (''b'', ''|b1''), (''r'', ''|V2''), (''u'', ''<U1'')]', '(1,)',
   x'0102' || x'0000000000000000' || x'01' || x'FFFE' || x'7E010000'),
  ('[(''c'', ''<c8''), (''w'', ''<u8''), (''s'', ''|S2'', 2)]', '(1,)',
   x'0000803F00000040' || x'FFFFFFFFFFFFFFFF' || x'61006200');
SELECT value, hex(data) AS data FROM files, npy_rows(files.npy) ORDER BY id;
DELETE FROM arrays;

.print ---- what no value stands for
INSERT INTO arrays(descr, shape, data) VALUES ('''<U1''', '(1,)', x'00001100');
SELECT value FROM files, npy_rows(files.npy);
SELECT hex(data) FROM files, npy_rows(files.npy);
DELETE FROM arrays;
INSERT INTO arrays(descr, shape, data) VALUES ('''<M8[Y]''', '(1,)', x'FFFFFFFFFFFFFF7F');
SELECT value FROM files, npy_rows(files.npy);
SELECT hex(data) FROM files, npy_rows(files.npy);
