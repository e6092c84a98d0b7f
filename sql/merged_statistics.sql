-- Statistics of an array that lies in pieces (shards, or results of several machines), as if it were one.
--
--     .parameter init
--     .parameter set :shards "'data/shard-*.npy'"
--     .read sql/merged_statistics.sql
--
-- Each piece is read once. count, mean and m2 of the pieces are merged by the rule of Chan, Golub and LeVeque, which
-- stays accurate where sum(x * x) - sum(x) * sum(x) / n does not. To merge results of several machines, keep count,
-- nulls, infs, zeros, min, max, mean and m2 of each in a table, and put that in place of `pieces`.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

WITH pieces AS MATERIALIZED (
         SELECT name, count, nulls, infs, zeros, min, max, mean, m2
           FROM npy_stats(coalesce(:shards, 'shards/*.npy'))
          WHERE error IS NULL
     ),
     totals AS MATERIALIZED (
         SELECT name, sum(count) AS n, sum(count * mean) / sum(count) AS mean FROM pieces GROUP BY name
     )
SELECT p.name, count(*) AS pieces, t.n AS count, sum(p.nulls) AS nulls, sum(p.infs) AS infs, sum(p.zeros) AS zeros,
       min(p.min) AS min, max(p.max) AS max, round(t.mean, 12) AS mean,
       round(sqrt((sum(p.m2) + sum(p.count * (p.mean - t.mean) * (p.mean - t.mean))) / t.n), 12) AS std
  FROM pieces AS p
  JOIN totals AS t USING (name)
 GROUP BY p.name;
