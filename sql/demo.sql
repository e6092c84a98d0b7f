-- A tour: four training runs, their files in runs/, and the log that somebody kept of them.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

.mode column

-- Every array of two of the runs, in whatever file of NumPy's it lies.
SELECT path, name, dtype, shape FROM npy_meta('runs/{r1,r4}/**/*.np[yz]');

-- What the archives hold and how well it was compressed; no array data are read.
SELECT path, name, method, compressed_size, uncompressed_size FROM npz_members('runs/r[34]/*.npz');

-- WebDataset's .ten files.
SELECT path, name, dtype, shape FROM ten_arrays('runs/{r1,r2}/batch.ten');

-- A slice: three epochs of one run, read from where they lie.
SELECT row AS epoch, round(value, 3) AS loss FROM npy_rows('runs/r1/loss.npy') WHERE row BETWEEN 2 AND 4;

-- The rows of a matrix, and one member of an archive.
SELECT row, value FROM npy_rows('runs/r2/confusion.npy');
SELECT row, value FROM npy_rows('runs/r3/weights.npz', 'out.bias');

-- The experiment log, joined with what the files say of themselves.
.import --csv experiments.csv experiments
SELECT e.run, e.optimizer, e.width, m.dtype, m.shape
  FROM experiments e
  JOIN npy_meta('runs/*/weights.npz') m ON json_extract(m.parts, '$[1]') = e.run
 WHERE m.name = 'hidden.weight';

-- The best epoch of each run: a file read for each line of the log.
SELECT e.run, e.learning_rate, r.row AS epoch, round(min(r.value), 3) AS loss
  FROM experiments e
  JOIN npy_rows('runs/' || e.run || '/loss.npy') r
 GROUP BY e.run
 ORDER BY loss;
