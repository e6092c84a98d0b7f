-- A tour: four training runs, their files in runs/, and the log kept of them.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

.mode column

-- What is in this folder? Only headers are read.
SELECT path, name, dtype, shape FROM npy_meta('runs/{r1,r4}/**');

-- Which run is the most accurate? The log, joined with each confusion matrix.
.import --csv experiments.csv experiments
SELECT e.run, e.optimizer, e.learning_rate,
       round(1.0 * sum(value) FILTER (WHERE i0 = i1) / sum(value), 3) AS accuracy
  FROM experiments AS e
  JOIN npy_elements('runs/' || e.run || '/confusion.npy')
 GROUP BY e.run
 ORDER BY accuracy DESC;

-- How did the losses fall?
SELECT m.parent AS run, npy_spark(f.array) AS loss,
       round(npy_min(f.array), 3) AS best, npy_argmin(f.array) AS epoch
  FROM npy_meta('runs/*/loss.npy') AS m JOIN npy_file(m.path) AS f;

-- Statistics: is anything odd about the weights?
SELECT name, count, nulls, round(min, 3) AS min, round(max, 3) AS max,
       round(mean, 3) AS mean, round(std, 3) AS std
  FROM npy_stats('runs/r4/weights.npz');

-- A histogram: the losses of all epochs of all runs.
SELECT round(lo, 2) AS lo, round(hi, 2) AS hi, count, bar
  FROM npy_histogram(npy_concat('runs/*/loss.npy'), '', '', 6);

-- Two checkpoints compared: r3 was saved in half precision.
SELECT name, status, max_abs, differing
  FROM npy_compare('runs/r1/weights.npz', 'runs/r3/weights.npz');

-- A file written: the best loss of each run, as numpy.save would write it.
SELECT * FROM npy_write('best.npy',
  (SELECT npy_array(min, 'float32') FROM npy_stats('runs/*/loss.npy')));

-- A shard for WebDataset, one sample for each run, written and read back.
CREATE VIRTUAL TABLE temp.out
 USING wds('runs.tar', mode='w+', columns='loss.npy, json');
INSERT INTO out(__key__, "loss.npy", json)
SELECT e.run, f.array, json_object('optimizer', e.optimizer)
  FROM experiments AS e JOIN npy_file('runs/' || e.run || '/loss.npy') AS f;
CREATE VIRTUAL TABLE temp.samples USING wds('runs.tar');
SELECT __key__, json_extract(json, '$.optimizer') AS optimizer,
       npy_shape("loss.npy") AS shape, round(npy_get("loss.npy", -1), 3) AS last
  FROM samples;

-- Pictures: the losses as an SVG, a wave as a PNG.
SELECT writefile('losses.svg',
    npy_plot(npy_stack(npy_slice(array, ':6')), 'loss of four runs')) > 0 AS written
  FROM npy_file('runs/*/loss.npy');
SELECT writefile('wave.png', npy_png(
    npy_array(sin(x.value / 9.0) * cos(y.value / 7.0), 'float32', '[120, -1]'),
    'viridis')) > 0 AS written
  FROM generate_series(0, 119) AS y CROSS JOIN generate_series(0, 199) AS x;
