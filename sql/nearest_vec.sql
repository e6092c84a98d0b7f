-- Which rows of a matrix lie nearest to one of them, by the vector extension sqlite-vec (vec0.so, from npm, PyPI or its releases).
--
--     .load ./vec0
--     .parameter init
--     .parameter set :source "'dataset/features.npy'"
--     .parameter set :query 4
--     .parameter set :k 5
--     .read sql/nearest_vec.sql
--
-- `data` of npy_rows is what sqlite-vec takes as a vector of float32; `astype` makes other dtypes float32. The rows are compared
-- where they lie, and nothing is stored. For many questions of one matrix put it once into a table of sqlite-vec's own, whose
-- declaration says how long the rows are:
--
--     CREATE VIRTUAL TABLE temp.vectors USING vec0(embedding float[4]);
--     INSERT INTO vectors(rowid, embedding) SELECT row, data FROM npy_rows('dataset/features.npy') WHERE astype = '<f4';
--     SELECT rowid, distance FROM vectors
--      WHERE embedding MATCH (SELECT data FROM npy_rows('dataset/features.npy') WHERE row = 4 AND astype = '<f4') AND k = 5;

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'vec_version') THEN load_extension('./vec0') END;

-- Rows with a NaN have no distance and are left out.
WITH query AS MATERIALIZED (
         SELECT data FROM npy_rows(coalesce(:source, 'dataset/features.npy')) WHERE row = coalesce(:query, 0) AND astype = '<f4'
     ),
     nearest AS MATERIALIZED (
         SELECT r.row, r.data, vec_distance_L2(r.data, q.data) AS distance
           FROM query AS q CROSS JOIN npy_rows(coalesce(:source, 'dataset/features.npy')) AS r
          WHERE r.row <> coalesce(:query, 0) AND r.astype = '<f4' AND distance IS NOT NULL
          ORDER BY distance, r.row
          LIMIT coalesce(:k, 5)
     )
SELECT n.row, round(n.distance, 5) AS distance, round(1 - vec_distance_cosine(n.data, q.data), 5) AS cosine
  FROM nearest AS n CROSS JOIN query AS q
 ORDER BY n.distance, n.row;
