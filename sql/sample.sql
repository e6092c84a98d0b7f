-- A random sample of rows that is the same tomorrow and on another machine: of all rows, and so many of each class.
--
--     .parameter init
--     .parameter set :labels "'dataset/labels.npy'"
--     .parameter set :n 4
--     .parameter set :per_class 2
--     .parameter set :seed 1
--     .read sql/sample.sql
--
-- Each row gets a number by its place and the seed, and those with the least are taken. x -> x^5 modulo the prime 2^31 - 1
-- gives each number once, so that no two of 2^31 - 1 rows tie; doing so twice, with the seed between, leaves no visible pattern.
-- To write the sample, join its rows: INSERT INTO ... SELECT data FROM npy_rows('dataset/features.npy') JOIN temp.sampled USING (row).

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.numbered;
CREATE TEMP TABLE numbered AS
  WITH one AS (
           SELECT row, value AS label, (row + 1) % 2147483647 AS x FROM npy_rows(coalesce(:labels, 'dataset/labels.npy'))
       ),
       two AS (
           SELECT row, label, ((x * x % 2147483647) * (x * x % 2147483647) % 2147483647 * x
                               + coalesce(:seed, 0) % 2147483647 * 48271 + 1013904223) % 2147483647 AS y FROM one
       )
  SELECT row, label, (y * y % 2147483647) * (y * y % 2147483647) % 2147483647 * y % 2147483647 AS z FROM two;

-- Of all rows.
SELECT row, label FROM (SELECT row, label FROM temp.numbered ORDER BY z LIMIT coalesce(:n, 4)) ORDER BY row;

-- Of each class. The table stays, to join with.
DROP TABLE IF EXISTS temp.sampled;
CREATE TEMP TABLE sampled AS
  SELECT row, label
    FROM (SELECT row, label, row_number() OVER (PARTITION BY label ORDER BY z) AS turn FROM temp.numbered)
   WHERE turn <= coalesce(:per_class, 2)
   ORDER BY row;
SELECT label, count(*) AS rows, group_concat(row, ' ') AS which FROM (SELECT label, row FROM temp.sampled ORDER BY label, row) GROUP BY label;
