-- npy_meta: every column, of every format, from headers alone.
.headers on
.nullvalue NULL

-- One row for a .npy; its name is '' and its idx 0.
SELECT * FROM npy_meta('X.npy');
-- One row an array of an archive; what lies deflated has no data_offset.
SELECT path, name, idx, format, shape, data_offset, compression FROM npy_meta('{w,deflated}.npz');
SELECT path, name, idx, format, dtype, descr, shape, version, data_offset, compression FROM npy_meta('*.ten');
-- idx is the position of the zip entry, and what is no array has no row.
SELECT name, idx, shape FROM npy_meta('mixed.npz');
-- An archive without arrays is one row.
SELECT path, name, idx, format, dtype, shape, size, file_size, error FROM npy_meta('empty.*');

.print ---- dtypes
SELECT stem, dtype, descr, kind, itemsize, byteorder, shape, nbytes FROM npy_meta('types/*.npy');
SELECT stem, dtype, descr, fields FROM npy_meta('structured/*.npy');
SELECT json_extract(fields, '$[1].name') AS second, json_array_length(fields) AS n FROM npy_meta('structured/p*.npy');
-- Objects: metadata only, and no error.
SELECT stem, dtype, kind, itemsize, shape, has_objects, error FROM npy_meta('objects/*.npy');

.print ---- shapes and orders
SELECT path, ndim, shape, size, nbytes, fortran_order, strides FROM npy_meta('{shapes,orders}/*.npy');
SELECT stem, version, data_offset FROM npy_meta('versions/*.npy');

.print ---- paths
SELECT path, parts, stem FROM npy_meta('./shapes/../y.npy');
SELECT path, parts, stem FROM npy_meta('odd/{.hidden,link}.npy');
-- Experiment names from the folders of files.
SELECT json_extract(parts, '$[1]') AS step, name, shape FROM npy_meta('checkpoints/*/*.npz');
-- A BLOB has no path, and so no parts, stem and mtime.
SELECT path, parts, stem, mtime, file_size, name FROM npy_meta(readfile('w.npz'));

.print ---- JSON results are JSON for SQLite too
SELECT json_object('shape', shape, 'strides', strides, 'parts', parts) AS json FROM npy_meta('X.npy');

.print ---- arguments as columns
SELECT quote(source), quote(on_error), array_key IS NOT NULL FROM npy_meta('y.npy', 'row');
SELECT quote(source), quote(on_error) FROM npy_meta('y.npy');
SELECT name FROM npy_meta WHERE source = 'w.npz' AND on_error = 'raise';
