-- How the values of an array are distributed: a histogram with shares, what it leaves out, and quantiles.
--
--     .parameter init
--     .parameter set :source "'dataset/sensor.npy'"
--     .parameter set :member "''"
--     .parameter set :slice "''"
--     .parameter set :bins 8
--     .read sql/distribution.sql
--
-- The range is that of the finite values, unless :lo and :hi are set. The bins and counts are those of numpy.histogram.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

WITH asked AS (
         SELECT coalesce(:source, 'dataset/sensor.npy') AS file, coalesce(:member, '') AS array, coalesce(:slice, '') AS part
     ),
     bounds AS MATERIALIZED (
         SELECT file, array, part,
                coalesce(:lo, (SELECT min(value) FROM npy_elements(file, array, part) WHERE value > -9e999 AND value < 9e999), 0) AS lo,
                coalesce(:hi, (SELECT max(value) FROM npy_elements(file, array, part) WHERE value > -9e999 AND value < 9e999), 1) AS hi
           FROM asked
     ),
     bins AS MATERIALIZED (
         SELECT h.* FROM bounds AS b JOIN npy_histogram(b.file, b.array, b.part, coalesce(:bins, 8), b.lo, b.hi) AS h
     )
SELECT printf('%.6g', lo) AS "from", printf('%.6g', hi) AS "to", count, round(100.0 * count / nullif(sum(count) OVER (), 0), 1) AS percent,
       round(100.0 * sum(count) OVER (ORDER BY bin) / nullif(sum(count) OVER (), 0), 1) AS up_to, bar
  FROM bins
 ORDER BY bin;

SELECT count + nulls AS items, nulls, infs, zeros, min, max, round(mean, 6) AS mean, round(std, 6) AS std
  FROM npy_stats(coalesce(:source, 'dataset/sensor.npy'), coalesce(:member, ''), coalesce(:slice, ''));

SELECT q, value
  FROM npy_quantile(coalesce(:source, 'dataset/sensor.npy'), coalesce(:member, ''), coalesce(:slice, ''), '[0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]');
