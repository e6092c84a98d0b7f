-- How the classes of a set of shards are spread, over all samples and from shard to shard, by the labels in it.
--
--     .parameter init
--     .parameter set :source "'data/train-{000000..000127}.tar'"
--     .parameter set :ext "'cls'"
--     .read sql/shards_classes.sql
--
-- A label is the text of the member that has the extension :ext. If it is an integer, so is the class, as WebDataset decodes .cls;
-- other texts are classes as they are. For labels in .json, put json_extract(CAST(data AS TEXT), '$.label') in place of the cast
-- below. Only the members with labels are read. The table temp.shard_labels stays, for questions of your own.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.shard_labels;
CREATE TEMP TABLE shard_labels AS
  WITH texts AS (
           -- Blanks and the end of a line around a label do not count.
           SELECT path, sample, max(key) AS key,
                  max(CASE WHEN ext = lower(coalesce(:ext, 'cls')) THEN trim(CAST(data AS TEXT), char(9, 10, 13, 32)) END) AS label
             FROM tar_members(coalesce(:source, 'wds/*.tar*'), 'row')
            WHERE sample IS NOT NULL AND error IS NULL
            GROUP BY path, sample
       )
  SELECT path, sample, key,
         CASE WHEN ltrim(label, '+-') GLOB '[0-9]*' AND substr(label, 2) NOT GLOB '*[^0-9]*' THEN CAST(label AS INTEGER) ELSE label END AS class
    FROM texts;

-- Classes. The empty one is that of samples without a label.
SELECT class, count(*) AS samples, round(100.0 * count(*) / (SELECT count(*) FROM temp.shard_labels), 1) AS percent,
       count(DISTINCT path) AS shards, min(path) AS first_in
  FROM temp.shard_labels
 GROUP BY class
 ORDER BY samples DESC, class
 LIMIT 100;

-- Shards, those that are least like the whole first. `apart` is the percentage of a shard's samples that would have to
-- change class for it to match the whole: about 0 where samples were shuffled, nearly 100 where each shard is of one class.
WITH whole AS MATERIALIZED (
         SELECT class, 1.0 * count(*) / (SELECT count(*) FROM temp.shard_labels) AS share FROM temp.shard_labels GROUP BY class
     ),
     cells AS MATERIALIZED (
         SELECT path, class, count(*) AS n, sum(count(*)) OVER (PARTITION BY path) AS samples,
                row_number() OVER (PARTITION BY path ORDER BY count(*) DESC, class) AS place
           FROM temp.shard_labels
          GROUP BY path, class
     )
SELECT c.path, c.samples, count(*) AS classes, max(CASE c.place WHEN 1 THEN c.class END) AS commonest,
       round(100.0 * max(c.n) / c.samples, 1) AS percent,
       round(100 * (1 - sum(min(1.0 * c.n / c.samples, w.share))), 1) AS apart
  FROM cells AS c
  JOIN whole AS w ON w.class IS c.class
 GROUP BY c.path
 ORDER BY apart DESC, c.path
 LIMIT 30;

-- Samples whose label is not what WebDataset decodes as one; no rows mean all are.
SELECT path, key, CASE WHEN class IS NULL THEN 'has no label' ELSE 'is no integer: ' || class END AS problem
  FROM temp.shard_labels
 WHERE class IS NULL OR (typeof(class) = 'text' AND coalesce(:ext, 'cls') IN ('cls', 'cls2', 'index', 'inx', 'id'))
 ORDER BY path, sample
 LIMIT 100;
