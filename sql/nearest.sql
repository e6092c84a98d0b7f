-- Which rows of a matrix lie nearest to one of them: embeddings that look alike.
--
--     .parameter init
--     .parameter set :source "'dataset/features.npy'"
--     .parameter set :query 4
--     .parameter set :k 5
--     .read sql/nearest.sql
--
-- This is the exact search in plain SQL, at a million items a second: good for some thousand rows. nearest_vec.sql is for more:
-- it takes the vector extension sqlite-vec.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.query;
CREATE TEMP TABLE query(i1 INTEGER PRIMARY KEY, value REAL);
INSERT INTO temp.query SELECT i1, value FROM npy_elements(coalesce(:source, 'dataset/features.npy')) WHERE i0 = coalesce(:query, 0);

-- Rows with a NaN have no distance and are left out.
WITH nearest AS MATERIALIZED (
         SELECT row, square
           FROM (SELECT r.row, (SELECT CASE count(e.value) WHEN count(*) THEN sum((e.value - q.value) * (e.value - q.value)) END
                                  FROM npy_elements(coalesce(:source, 'dataset/features.npy')) AS e CROSS JOIN temp.query AS q USING (i1)
                                 WHERE e.i0 = r.row) AS square
                   FROM npy_rows(coalesce(:source, 'dataset/features.npy')) AS r
                  WHERE r.row <> coalesce(:query, 0))
          WHERE square IS NOT NULL
          ORDER BY square, row
          LIMIT coalesce(:k, 5)
     )
SELECT n.row, round(sqrt(n.square), 6) AS distance,
       round(sum(e.value * q.value) / nullif(sqrt(sum(e.value * e.value)) * sqrt(sum(q.value * q.value)), 0), 6) AS cosine
  FROM nearest AS n
  JOIN npy_elements(coalesce(:source, 'dataset/features.npy')) AS e ON e.i0 = n.row
  JOIN temp.query AS q ON q.i1 = e.i1
 GROUP BY n.row
 ORDER BY n.square, n.row;
