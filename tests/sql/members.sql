-- npz_members: every column, and what needs the entries themselves.
.headers on
.nullvalue NULL

SELECT * FROM npz_members('w.npz');
SELECT idx, name, method, compressed_size < uncompressed_size AS smaller, ratio < 1 AS below_one,
       crc32, modified, crc_ok
  FROM npz_members('deflated.npz');

.print ---- entries of every kind
SELECT idx, name, filename, is_array, dtype, shape, uncompressed_size, ratio FROM npz_members('mixed.npz');
SELECT * FROM npz_members('empty.npz');

.print ---- what is listed but not read: is_array, dtype and crc_ok stay unknown, and that is no error
SELECT path, name, method, encrypted, is_array, dtype, shape, data_offset, crc_ok, error
  FROM npz_members('{bzip2,lzma,encrypted}.npz');

.print ---- a CRC that does not fit
WITH z(bytes, at) AS (SELECT readfile('w.npz'), 35 + 130 FROM (SELECT 1))
SELECT name, is_array, printf('%08x', crc32) AS crc32, crc_ok, error
  FROM z, npz_members(CAST(substr(bytes, 1, at) || x'07' || substr(bytes, at + 2) AS BLOB));

.print ---- other formats
SELECT name FROM npz_members('y.npy');
SELECT name FROM npz_members('multi.ten');
SELECT path, error FROM npz_members('["y.npy", "w.npz"]');

.print ---- a fault in one entry leaves the others
SELECT name, is_array, shape, error FROM npz_members('survey/z.npz', 'row');
SELECT name, is_array, shape, error FROM npz_members('survey/z.npz', 'skip');
SELECT name, is_array, shape FROM npz_members('survey/z.npz');
-- The central directory alone shows no fault of an entry.
SELECT name, method, uncompressed_size FROM npz_members('survey/z.npz');
