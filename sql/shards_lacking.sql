-- Which samples of a set of shards lack a part that the others have, and which keys stand for more than one sample.
--
--     .parameter init
--     .parameter set :source "'data/train-{000000..000127}.tar'"
--     .parameter set :usual 50
--     .read sql/shards_lacking.sql
--
-- A part is a member by its extension. A part that at least :usual percent of the samples have must be in each;
-- rarer ones appear only in the first table. Only headers are read. The table temp.shard_parts stays, for questions of
-- your own.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.shard_parts;
CREATE TEMP TABLE shard_parts AS
  SELECT path, sample, key, ext FROM tar_members(coalesce(:source, 'wds/*.tar*'), 'row') WHERE sample IS NOT NULL AND error IS NULL;
CREATE INDEX temp.shard_parts_by_sample ON shard_parts(path, sample, ext);

-- Parts, and how many samples have them.
WITH total AS MATERIALIZED (SELECT sum(n) AS n FROM (SELECT count(DISTINCT sample) AS n FROM temp.shard_parts GROUP BY path))
SELECT ext, count(*) AS samples, total.n - count(*) AS lacking, round(100.0 * count(*) / total.n, 1) AS percent
  FROM total, temp.shard_parts
 GROUP BY ext
 ORDER BY samples DESC, ext
 LIMIT 100;

-- Samples that lack one; no rows mean none does.
WITH usual AS MATERIALIZED (
         SELECT ext FROM temp.shard_parts GROUP BY ext
         HAVING 100.0 * count(*) >= coalesce(:usual, 50) * (SELECT sum(n) FROM (SELECT count(DISTINCT sample) AS n FROM temp.shard_parts GROUP BY path))
     ),
     short AS MATERIALIZED (
         SELECT path, sample, max(key) AS key FROM temp.shard_parts
          GROUP BY path, sample
         HAVING count(CASE WHEN ext IN (SELECT ext FROM usual) THEN 1 END) < (SELECT count(*) FROM usual)
     )
SELECT path, key, group_concat(ext, ', ') AS lacks
  FROM (SELECT s.path, s.sample, s.key, u.ext
          FROM short AS s JOIN usual AS u
         WHERE NOT EXISTS (SELECT 1 FROM temp.shard_parts AS p WHERE p.path IS s.path AND p.sample = s.sample AND p.ext = u.ext)
         ORDER BY s.path, s.sample, u.ext)
 GROUP BY path, sample
 ORDER BY path, sample
 LIMIT 100;

-- Keys of several samples; no rows mean there are none. To WebDataset, only adjacent members are one sample.
SELECT key, count(*) AS samples, count(DISTINCT path) AS shards, min(path) AS first_in, max(path) AS last_in,
       CASE WHEN count(*) > count(DISTINCT path) THEN 'its members are not all next to each other' ELSE 'in several shards' END AS what
  FROM (SELECT path, sample, max(key) AS key FROM temp.shard_parts GROUP BY path, sample)
 GROUP BY key
HAVING count(*) > 1
 ORDER BY samples DESC, key
 LIMIT 100;
