-- Sources: paths, patterns, lists, BLOBs and NULL.
.headers on
.nullvalue NULL

.print ---- patterns
SELECT path FROM npy_meta('shards/*');
SELECT path FROM npy_meta('shards/shard-00000?.npy') LIMIT 2;
SELECT path FROM npy_meta('shards/*[1-2].npy');
SELECT path FROM npy_meta('shards/*[!1-2].npy');
-- A range counts; files that are not there are not missed.
SELECT path FROM npy_meta('shards/shard-{000002..000127}.npy');
SELECT path FROM npy_meta('{y,X}.npy');
-- `**` is any depth, none included.
SELECT DISTINCT path FROM npy_meta('**/model.npz');
SELECT path FROM npy_meta('**/y.npy');
SELECT DISTINCT path FROM npy_meta('checkpoints/**');
-- Nothing matches, and that is no error.
SELECT path FROM npy_meta('*.nothing');
SELECT count(*) FROM npy_rows('nowhere/**/*.npy');

.print ---- odd names
-- Only regular files, and links to them; dot files only when written.
SELECT path FROM npy_meta('odd/*');
SELECT path FROM npy_meta('odd/.*');
-- A path that exists as written is no pattern.
SELECT path FROM npy_meta('odd/a[1].npy');
SELECT path FROM npy_meta('odd/{x}.npy');
SELECT path FROM npy_meta('odd/a[[]1].npy');
SELECT path FROM npy_meta('odd/link.npy');

.print ---- lists
SELECT path FROM npy_meta('["y.npy", "X.npy", "y.npy"]');
SELECT path FROM npy_meta(' [ "y.npy", "shards/*[01].npy" ] ');
SELECT path FROM npy_meta('[]');
SELECT path, error FROM npy_meta('["gone.npy", "y.npy"]');
SELECT row, value FROM npy_rows('["shards/shard-000001.npy", "shards/shard-000000.npy"]');
-- A null is passed over, a number is not; without strings it is not a list.
SELECT path FROM npy_meta('["y.npy", null]');
SELECT path FROM npy_meta('["y.npy", 1]');
SELECT path FROM npy_meta('[1]');
WITH chosen(paths) AS (SELECT json_group_array(path) FROM (SELECT path FROM npy_meta('**/*.npy') WHERE ndim = 3 ORDER BY path))
SELECT path, shape FROM chosen, npy_meta(chosen.paths);

.print ---- BLOBs
SELECT path, name, idx, format, shape, file_size FROM npy_meta(readfile('y.npy'));
SELECT path, name, idx, format, shape, file_size FROM npy_meta(readfile('deflated.npz'));
SELECT path, name, idx, format, shape, file_size FROM npy_meta(readfile('big_endian.ten'));
SELECT name, row, value FROM npy_rows(readfile('deflated.npz'), 'b');
SELECT name, filename FROM npz_members(readfile('mixed.npz'));
SELECT name, shape FROM ten_arrays(readfile('multi.ten'));
SELECT name FROM npy_meta(x'');

.print ---- NULL and nothing
SELECT count(*) FROM npy_meta(NULL);
SELECT count(*) FROM npy_rows('y.npy', NULL);
SELECT count(*) FROM npy_rows('y.npy') WHERE on_error = NULL;
SELECT count(*) FROM npy_rows('gone.npy', NULL);
SELECT count(*) FROM npy_meta('');
SELECT count(*) FROM npy_meta;
SELECT count(*) FROM npy_meta(5);

.print ---- the format is told by the bytes, not by the name
SELECT path, format FROM npy_meta('{empty,w}.{npz,ten}') GROUP BY path, format;
SELECT writefile('named.csv', readfile('multi.ten')) AS bytes;
SELECT path, format, name FROM npy_meta('named.csv');
