-- What is in a set of shards: how many samples, their parts by extension, dtypes and shapes of the arrays, and what is damaged.
--
--     .parameter init
--     .parameter set :source "'data/train-{000000..000127}.tar'"
--     .read sql/shards_survey.sql
--
-- Only headers are read, of the tars and of the arrays in them. The tables temp.shard_members and
-- temp.shard_arrays stay, for questions of your own.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.shard_members;
CREATE TEMP TABLE shard_members AS
  SELECT path, idx, name, key, ext, type, size, sample, error FROM tar_members(coalesce(:source, 'wds/*.tar*'), 'row');

-- `array` is the name that an array has inside of its .npz or .ten.
DROP TABLE IF EXISTS temp.shard_arrays;
CREATE TEMP TABLE shard_arrays AS
  SELECT path, idx, name, key, coalesce(ext, '') AS ext, coalesce(substr(name, length(key) + length(ext) + 3), '') AS array,
         dtype, ndim, shape, size, nbytes, error
    FROM npy_meta(coalesce(:source, 'wds/*.tar*'), 'row');

-- Totals. `others` are members that are part of no sample: folders, links, names without an extension, __NAME__/.
SELECT count(DISTINCT path) AS shards, (SELECT sum(n) FROM (SELECT max(sample) + 1 AS n FROM temp.shard_members GROUP BY path)) AS samples,
       count(sample) AS members, count(idx) - count(sample) AS others, printf('%,d', sum(size)) AS bytes,
       (SELECT count(dtype) FROM temp.shard_arrays) AS arrays
  FROM temp.shard_members;

-- Parts: `percent` is of the samples, bytes are the least, mean and most of a member, and the sum.
SELECT ext, count(*) AS members,
       round(100.0 * count(*) / (SELECT sum(n) FROM (SELECT max(sample) + 1 AS n FROM temp.shard_members GROUP BY path)), 1) AS percent,
       printf('%,d', min(size)) AS least, printf('%,d', avg(size)) AS mean, printf('%,d', max(size)) AS most,
       printf('%,d', sum(size)) AS bytes
  FROM temp.shard_members
 WHERE sample IS NOT NULL
 GROUP BY ext
 ORDER BY sum(size) DESC, ext
 LIMIT 30;

-- Arrays: where lengths differ, `shape` has the least and the greatest of them.
WITH shapes AS MATERIALIZED (
         SELECT ext, array, dtype, ndim, shape, count(*) AS arrays, sum(nbytes) AS nbytes, min(rowid) AS first
           FROM temp.shard_arrays
          WHERE dtype IS NOT NULL
          GROUP BY ext, array, dtype, ndim, shape
     ),
     kinds AS MATERIALIZED (
         SELECT ext, array, dtype, ndim, count(*) AS shapes, sum(arrays) AS arrays, sum(nbytes) AS nbytes, min(first) AS first
           FROM shapes
          GROUP BY ext, array, dtype, ndim
     ),
     axes AS MATERIALIZED (
         SELECT s.ext, s.array, s.dtype, s.ndim, n.key AS axis, min(n.value) AS least, max(n.value) AS most
           FROM shapes AS s, json_each(s.shape) AS n
          GROUP BY s.ext, s.array, s.dtype, s.ndim, n.key
     ),
     spans AS MATERIALIZED (
         SELECT ext, array, dtype, ndim, group_concat(CASE WHEN least < most THEN least || '..' ELSE '' END || most, ',') AS span
           FROM (SELECT * FROM axes ORDER BY ext, array, dtype, ndim, axis)
          GROUP BY ext, array, dtype, ndim
     )
SELECT k.ext, k.array, k.dtype, '[' || coalesce(s.span, '') || ']' AS shape, k.shapes, k.arrays, printf('%,d', k.nbytes) AS bytes,
       a.path AS first_in, a.key AS first_of
  FROM kinds AS k
  LEFT JOIN spans AS s USING (ext, array, dtype, ndim)
  JOIN temp.shard_arrays AS a ON a.rowid = k.first
 ORDER BY k.nbytes DESC, k.ext, k.array, k.dtype, k.ndim
 LIMIT 30;

-- What is wrong; no rows mean nothing is. Members after a fault of the tar itself are not known.
SELECT path, name, error FROM temp.shard_members WHERE error IS NOT NULL
UNION
SELECT path, name, error FROM temp.shard_arrays WHERE error IS NOT NULL
 ORDER BY 1, 2, 3
 LIMIT 100;
