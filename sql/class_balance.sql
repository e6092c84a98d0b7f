-- How the classes are spread over the splits, and whether the splits are sound: no row twice, none forgotten.
--
--     .parameter init
--     .parameter set :labels "'dataset/labels.npy'"
--     .parameter set :splits "'dataset/splits.npz'"
--     .read sql/class_balance.sql
--
-- The split file is an .npz with an array of row numbers for each split (train, valid, test), or a pattern of such .npy files, or
-- one .npy of texts, the name of each row's split. For a table of rows and splits put its name in the place of the query in `split`.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.labelled;
CREATE TEMP TABLE labelled AS
  WITH split AS MATERIALIZED (
           SELECT CASE WHEN typeof(value) = 'text' THEN value WHEN name <> '' THEN name ELSE path END AS split,
                  CASE WHEN typeof(value) = 'text' THEN row ELSE value END AS row
             FROM npy_rows(coalesce(:splits, 'dataset/splits.npz'))
       ),
       label AS MATERIALIZED (
           SELECT row, value AS label FROM npy_rows(coalesce(:labels, 'dataset/labels.npy'))
       )
  -- Without the plus sign the two sides would have different affinities, and SQLite would join by nested loops.
  SELECT split.split, label.row, label.label, split.row AS split_row FROM label LEFT JOIN split ON split.row = +label.row
  UNION ALL
  SELECT split, NULL, NULL, row FROM split WHERE row NOT IN (SELECT row FROM label) OR row IS NULL;

-- Classes by split. `percent` is of the split, `overall` of all rows: they are alike in a stratified split.
WITH classes AS (SELECT label, count(DISTINCT row) AS n FROM temp.labelled WHERE row IS NOT NULL GROUP BY label),
     splits AS (SELECT split, count(*) AS n FROM temp.labelled WHERE split IS NOT NULL AND row IS NOT NULL GROUP BY split)
SELECT s.split, c.label, count(l.row) AS rows, round(100.0 * count(l.row) / s.n, 1) AS percent,
       round(100.0 * c.n / sum(c.n) OVER (PARTITION BY s.split), 1) AS overall
  FROM splits AS s JOIN classes AS c
  LEFT JOIN temp.labelled AS l ON l.split = s.split AND l.label IS c.label AND l.row IS NOT NULL
 GROUP BY s.split, c.label
 ORDER BY s.n DESC, s.split, c.label;

-- What is wrong with the splits; no rows mean nothing is.
SELECT 'taken ' || count(*) || ' times (' || group_concat(split, ', ') || ')' AS problem, row, label
  FROM (SELECT split, row, label FROM temp.labelled WHERE row IS NOT NULL ORDER BY row, split) GROUP BY row HAVING count(*) > 1
UNION ALL
SELECT 'in no split', row, label FROM temp.labelled WHERE split IS NULL
UNION ALL
SELECT 'in ' || split || ', and there is no such row', split_row, NULL FROM temp.labelled WHERE row IS NULL
 ORDER BY 1, 2
 LIMIT 100;
