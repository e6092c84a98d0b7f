-- What Python would import if it loaded the pickles in checkpoints and arrays: whatever npyext does not read as data.
--
--     .parameter init
--     .parameter set :source "'models/**/*.{pt,pth,bin,ckpt,pkl}'"
--     .read sql/unsafe_globals.sql
--
-- Nothing is imported or called. A file that cannot be read to its end is listed with its error: Python may get further.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.named_globals;
CREATE TEMP TABLE named_globals AS
  SELECT path, name, module, qualname, count, known, error FROM npy_globals(coalesce(:source, '**/*.{pt,pth,pkl,npy,npz}'), 'row');

-- By name: in how many files, and in which first.
SELECT module || '.' || qualname AS global, count(DISTINCT path) AS files, sum(count) AS times, min(path) AS first
  FROM temp.named_globals
 WHERE NOT known AND error IS NULL
 GROUP BY module, qualname
 ORDER BY files DESC, global;

-- What could not be read.
SELECT path, name, error FROM temp.named_globals WHERE error IS NOT NULL ORDER BY path, name;

-- What is known, and only data.
SELECT count(DISTINCT path) AS files, count(*) AS globals, sum(count) AS times FROM temp.named_globals WHERE known;
