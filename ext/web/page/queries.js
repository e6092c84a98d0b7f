// The ready queries: what one asks of a file first, written out as SQL that can be changed.

const literal = (text) => `'${text.replaceAll("'", "''")}'`;
const identifier = (text) => `"${text.replaceAll('"', '""')}"`;

const MOST_ITEMS_OF_A_PICTURE = 1 << 24;
const MOST_COMPARED = 8;

const isNumber = (dtype) => /^(bool|u?int|float|bfloat)/.test(dtype ?? '');
const isInteger = (dtype) => /^(bool|u?int)/.test(dtype ?? '');
const size = (shape) => shape.reduce((product, n) => product * n, 1);

/** The last part of a path; a URL's is before its query. */
const baseName = (path) => path.replace(/^(https?:\/\/[^?#]*).*$/s, '$1').split('/').pop();

function withoutFiles() {
  const made = `SELECT * FROM npy_write('wave.npy', (
  WITH RECURSIVE step(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM step WHERE i < 999)
  SELECT npy_array(sin(i / 50.0) * exp(-i / 400.0)) FROM step));
SELECT npy_plot(array, 'wave.npy') AS plot FROM npy_file('wave.npy');`;
  return [['An array made by SQL, if you have none at hand', made]];
}

function ofAllFiles(source) {
  return [
    ['All files: what is in them', `SELECT path, name, dtype, shape, nbytes, error\n  FROM npy_meta(${literal(source)}, 'row');`],
    ['All files: which have NaN or infinities', `SELECT path, name, count, nulls, infs, min, max, error\n  FROM npy_stats(${literal(source)})\n WHERE on_error = 'row' AND (nulls > 0 OR infs > 0 OR error IS NOT NULL);`],
  ];
}

function ofFormat(path, format) {
  const source = literal(path);
  if (format === 'npz') return [['Members of the .npz', `SELECT idx, name, is_array, dtype, shape, method, compressed_size, uncompressed_size\n  FROM npz_members(${source});`]];
  if (format === 'ten') return [['Arrays of the .ten', `SELECT idx, name, dtype, shape, data_offset\n  FROM ten_arrays(${source});`]];
  if (['safetensors', 'gguf', 'torch', 'pickle'].includes(format)) {
    return [
      ['Its metadata', `SELECT DISTINCT metadata FROM npy_meta(${source});`],
      ['The largest tensors', `SELECT name, dtype, shape, nbytes\n  FROM npy_meta(${source}) ORDER BY nbytes DESC LIMIT 20;`],
    ];
  }
  if (!/\.(tar|tgz|tar\.gz)$/i.test(baseName(path))) return [];
  return [
    ['Members of the tar', `SELECT idx, name, key, ext, type, size\n  FROM tar_members(${source});`],
    ['Samples, one a row', `DROP TABLE IF EXISTS temp.samples;\nCREATE VIRTUAL TABLE temp.samples USING wds(${source});\nSELECT * FROM temp.samples LIMIT 20;`],
  ];
}

/** A picture of an array, of which every nth row and column is left when it is too large for one. */
function picture(shape, file) {
  const hasColours = (n) => n === 3 || n === 4;
  const isBatch = shape.length === 4 || (shape.length === 3 && !hasColours(shape[2]) && shape[0] !== 1 && shape[0] !== 3);
  const one = isBatch ? shape.slice(1) : shape;
  if (one.length < 2 || one.length > 3 || size(one) === 0) return [];
  const isGray = one.length === 2;
  const step = Math.ceil(Math.max(Math.sqrt(size(one) / MOST_ITEMS_OF_A_PICTURE), Math.max(...one) / 65535));
  const parts = [...(isBatch ? ['0'] : []), ...(step > 1 ? one.map((n) => (hasColours(n) ? ':' : `::${step}`)) : [])];
  const array = parts.length > 0 ? `npy_slice(array, ${literal(parts.join(', '))})` : 'array';
  return [[isBatch ? 'A picture of the first' : 'A picture', `SELECT npy_png(${array}${isGray ? ", 'viridis'" : ''}) AS picture\n  FROM ${file};`]];
}

function ofNumbers({ path, title, from, file, array: { dtype, shape, ndim } }) {
  const queries = [
    ['Statistics', `SELECT count, nulls, infs, zeros, min, max, mean, std, sum\n  FROM npy_stats(${from});`],
    ['Histogram', `SELECT lo, hi, count, bar\n  FROM npy_histogram(${from}, '', 20);`],
    ['Quantiles', `SELECT *\n  FROM npy_quantile(${from}, '', '[0, 0.01, 0.25, 0.5, 0.75, 0.99, 1]');`],
  ];
  if (ndim === 1 || (ndim === 2 && shape[0] <= 10)) queries.push(['A plot', `SELECT npy_plot(array, ${literal(title)}) AS plot\n  FROM ${file};`]);
  queries.push(...picture(shape, file));
  if (ndim === 2) {
    queries.push(
      ['Statistics of each column', `SELECT at, count, nulls, min, max, mean, std\n  FROM npy_stats(${from}, '', 0);`],
      ['Rows nearest to the first row', `SELECT row, distance\n  FROM npy_nearest(${from}, '', (SELECT array FROM npy_rows(${from}) WHERE row = 0), 10);`],
    );
  }
  if (isInteger(dtype)) queries.push(['Different values', `SELECT value, count\n  FROM npy_unique(${from}) ORDER BY count DESC LIMIT 50;`]);
  if (isNumber(dtype) && !dtype.startsWith('bfloat') && !/float[468](_|$)/.test(dtype)) {
    const name = `${baseName(path).replace(/\.[^.]*$/, '')}-float32.npy`;
    queries.push(['Write it as float32, to download', `SELECT * FROM npy_write(${literal(name)}, (\n  SELECT npy_astype(array, '<f4') FROM ${file}));`]);
  }
  return queries;
}

function ofArray(path, array, hasSeveral) {
  const member = hasSeveral ? literal(array.name) : "''";
  const from = `${literal(path)}, ${member}`;
  const file = `npy_file(${literal(path)}${hasSeveral ? `, ${member}` : ''})`;
  const title = hasSeveral ? `${path}: ${array.name}` : path;
  return [
    ['First rows', `SELECT row, value\n  FROM npy_rows(${from}) LIMIT 20;`],
    ['As NumPy prints it', `SELECT npy_preview(array) AS preview\n  FROM ${file};`],
    ...(isNumber(array.dtype) ? ofNumbers({ path, title, from, file, array }) : []),
  ];
}

function ofComparison(path, others) {
  return others.slice(0, MOST_COMPARED).map((other) => [`Compare it with ${other}`, `SELECT *\n  FROM npy_compare(${literal(path)}, ${literal(other)});`]);
}

function ofDatabase({ database, tables }) {
  const listed = `SELECT type, name, sql FROM ${identifier(database)}.sqlite_schema;`;
  return [
    ['Its tables', listed],
    ...tables.map((table) => [`Table ${table}`, `SELECT *\n  FROM ${identifier(database)}.${identifier(table)} LIMIT 100;`]),
  ];
}

/**
 * Groups of ready queries: [[heading, [[label, sql]]]]. `chosen` is { path, content }, what the worker has said of a
 * file, or null; `index` the array of it that was chosen; `others` the paths of other files; `source` all files in SQL.
 */
export function readyQueries(chosen, index, others, source) {
  if (chosen === null) return [['Without a file', withoutFiles()]];
  const { path, content } = chosen;
  const groups = [];
  if (content.database !== undefined) {
    groups.push([`${path}, a database`, ofDatabase(content)]);
  } else {
    const meta = ['What is in it', `SELECT name, dtype, shape, nbytes, format, error\n  FROM npy_meta(${literal(path)}, 'row');`];
    const array = content.arrays[index];
    const isSound = array !== undefined && array.error === null;
    groups.push([path, [meta, ...ofFormat(path, array?.format)]]);
    if (isSound) groups.push([array.name === '' ? 'The array' : `The array ${array.name}`, ofArray(path, array, content.arrays.length > 1)]);
    if (isSound && others.length > 0) groups.push(['Two files', ofComparison(path, others)]);
  }
  if (others.length > 0) groups.push(['All files', ofAllFiles(source)]);
  return groups;
}
