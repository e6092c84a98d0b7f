"""Tasks of people who train models or look after data: a question, the SQL that answers it, and how NumPy answers it.

Each function makes its files in the current folder, or tables in the database, and returns the rows that the SQL's last statement
must give. A list or an array in a row stands for JSON; NaN stands for NULL.
"""

import os
import pickle
from collections import Counter
from typing import Callable, NamedTuple

import numpy as np

from arrays import npy_bytes, npz_bytes
from safetensors_files import safetensors_bytes
from tars import gzipped, tar_of
from torch_files import tensor, torch_zip


class Task(NamedTuple):
    question: str
    sql: str
    tolerance: float  # of floats, relative or absolute; 0: every bit
    answer: Callable


TASKS = []


def task(question, sql, tolerance=0):
    return lambda answer: TASKS.append(Task(question, sql, tolerance, answer))


def put(path, contents):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(contents)


def save(path, array):
    array = np.asanyarray(array)
    put(path, npy_bytes(array))
    return array


def savez(path, **arrays):
    put(path, npz_bytes(arrays))
    return arrays


def table(db, declaration, rows):
    db.execute(f"CREATE TABLE {declaration}")
    rows = [tuple(cell.item() if isinstance(cell, np.generic) else cell for cell in row) for row in rows]
    db.executemany(f"INSERT INTO {declaration.partition('(')[0]} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def softmax(logits):
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


# --- as in the documents -----------------------------------------------------------------------------------


@task("What are mean and spread of the third feature in each class?",
      "SELECT label, count, mean, std FROM npy_stats('X.npy', '', ':, 2') WHERE by = 'y.npy'", 1e-12)
def class_means(g, db):
    x, y = save("X.npy", g.normal(size=(200, 4))), save("y.npy", g.integers(0, 5, 200))
    return [(c, (y == c).sum(), x[y == c, 2].mean(), x[y == c, 2].std()) for c in np.unique(y)]


@task("Which runs have NaN in their gradients, in which array, how many, and where is the first?", """
    SELECT s.parent, s.name, s.nulls, (SELECT e.idx FROM npy_elements(s.path, s.name) AS e WHERE e.value IS NULL LIMIT 1)
      FROM npy_stats('runs/*/grads.npz') AS s WHERE s.nulls > 0""")
def nan_hunt(g, db):
    rows = []
    for run in range(6):
        arrays = {name: g.normal(size=(5, 7)).astype("f4") for name in ("w", "b")}
        for name in g.permutation(["w", "b"])[: run % 3]:
            arrays[name][g.integers(5, size=3), g.integers(7, size=3)] = np.nan
        savez(f"runs/r{run}/grads.npz", **arrays)
        rows += [(f"r{run}", k, np.isnan(a).sum(), np.flatnonzero(np.isnan(a))[0]) for k, a in arrays.items() if np.isnan(a).any()]
    return rows


@task("What does the confusion matrix of my logits look like, zeros included?", """
    WITH c AS (SELECT u.label, u.value, u.count FROM npy_file('logits.npy') AS f JOIN npy_unique(npy_argmax(f.array, 1)) AS u
                WHERE u.by = 'y.npy'),
         k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 3)
    SELECT t.i, p.i, coalesce(c.count, 0) FROM k AS t CROSS JOIN k AS p LEFT JOIN c ON c.label = t.i AND c.value = p.i ORDER BY 1, 2""")
def confusion(g, db):
    logits, y = save("logits.npy", g.normal(size=(30, 4))), save("y.npy", g.integers(0, 4, 30))
    return [(t, p, ((y == t) & (logits.argmax(1) == p)).sum()) for t in range(4) for p in range(4)]


@task("Which class do the 7 nearest training rows vote for, for each test row?", """
    SELECT query, label FROM (
      SELECT n.query_row AS query, y.value AS label, row_number() OVER (PARTITION BY n.query_row ORDER BY count(*) DESC, y.value) AS place
        FROM npy_file('test.npy') AS t JOIN npy_nearest('train.npy', '', '', t.array, 7) AS n JOIN npy_rows('y.npy') AS y ON y.row = n.row
       GROUP BY n.query_row, y.value)
     WHERE place = 1 ORDER BY query""")
def nearest_vote(g, db):
    train, test = save("train.npy", g.normal(size=(150, 6))), save("test.npy", g.normal(size=(12, 6)))
    y = save("y.npy", g.integers(0, 3, 150))
    near = [np.argsort(((train - t) ** 2).sum(1))[:7] for t in test]
    return [(i, np.bincount(y[rows]).argmax()) for i, rows in enumerate(near)]


@task("Split my rows into training and validation by a hash of the row, the labels alongside.", """
    CREATE VIRTUAL TABLE temp.xt USING npy('X_train.npy', mode='w+', dtype='float32', shape='[-1, 3]');
    CREATE VIRTUAL TABLE temp.yv USING npy('y_valid.npy', mode='w+', dtype='int16');
    BEGIN;
    INSERT INTO xt SELECT data FROM npy_rows('X.npy') WHERE (row * 2654435761) % 4294967296 < 0.7 * 4294967296 ORDER BY row;
    INSERT INTO yv SELECT value FROM npy_rows('y.npy') WHERE (row * 2654435761) % 4294967296 >= 0.7 * 4294967296 ORDER BY row;
    COMMIT;
    SELECT npy_json(x.array), npy_json(y.array) FROM npy_file('X_train.npy') AS x, npy_file('y_valid.npy') AS y""", 1e-6)
def hash_split(g, db):
    x, y = save("X.npy", g.normal(size=(80, 3)).astype("f4")), save("y.npy", g.integers(0, 999, 80).astype("i2"))
    train = np.arange(80) * 2654435761 % 4294967296 < 0.7 * 4294967296
    return [(x[train], y[~train])]


@task("Which layers changed between two checkpoints, by how much, and which came or went?", """
    SELECT name, status, max_abs, differing FROM npy_compare('old.npz', 'new.npz') WHERE status <> 'equal' ORDER BY name""", 1e-12)
def checkpoint_diff(g, db):
    old = {f"layer{i}": g.normal(size=(4, 5)) for i in range(6)}
    new = {k: a.copy() for k, a in old.items()}
    new["layer1"][2, 3] += 0.25
    new["layer4"] *= 1.5
    new["head"] = new.pop("layer5")
    new["layer0"] = new["layer0"].T
    savez("old.npz", **old), savez("new.npz", **new)
    changes = [(k, "differs", np.abs(old[k] - new[k]).max(), (old[k] != new[k]).sum()) for k in ("layer1", "layer4")]
    return [("head", "only_b", None, None), ("layer0", "shape", None, None), *changes, ("layer5", "only_a", None, None)]


@task("How accurate is the model over all shards of predictions and labels, whose cuts differ?", """
    SELECT npy_mean(npy_calc('a == b', npy_argmax(npy_concat('pred/*.npy'), 1), npy_concat('label/*.npy')))""", 1e-15)
def sharded_accuracy(g, db):
    logits, y = g.normal(size=(90, 3)).astype("f4"), g.integers(0, 3, 90)
    for i in range(9):
        save(f"pred/{i}.npy", logits[i * 10 : i * 10 + 10])
    for i in range(3):
        save(f"label/{i}.npy", y[i * 30 : i * 30 + 30])
    return [((logits.argmax(1) == y).mean(),)]


@task("How are the magnitudes of my weights distributed by powers of ten?", """
    SELECT h.lo, h.count FROM npy_file('w.npy') AS f
      JOIN npy_histogram(npy_calc('log10(abs(a))', f.array), '', '', '[-6, -4, -3, -2, -1, 0, 6]') AS h""")
def magnitudes(g, db):
    w = save("w.npy", 10 ** g.uniform(-5, 1, 500) * g.choice([-1, 1], 500))
    edges = [-6, -4, -3, -2, -1, 0, 6]
    return list(zip(map(float, edges), np.histogram(np.log10(np.abs(w)), edges)[0]))


@task("What are the 5th and 95th percentiles of each feature, NaN left out?",
      "SELECT at, q, value FROM npy_quantile('X.npy', '', '', '[0.05, 0.95]', 0)", 1e-12)
def feature_percentiles(g, db):
    x = g.normal(size=(120, 3))
    x[g.random(x.shape) < 0.1] = np.nan
    save("X.npy", x)
    return [(i, q, np.nanquantile(x[:, i], q)) for i in range(3) for q in (0.05, 0.95)]


@task("Write the rows of class 2 whose mean is positive to a new file.", """
    CREATE VIRTUAL TABLE temp.chosen USING npy('chosen.npy', mode='w+', dtype='float64', shape='[-1, 3]');
    INSERT INTO chosen SELECT x.data FROM npy_rows('X.npy') AS x JOIN npy_rows('y.npy') AS y USING (row)
     WHERE y.value = 2 AND npy_mean(x.array) > 0 ORDER BY row;
    SELECT value FROM npy_rows('chosen.npy')""")
def write_subset(g, db):
    x, y = save("X.npy", g.normal(size=(60, 3))), save("y.npy", g.integers(0, 3, 60))
    return [(row,) for row in x[(y == 2) & (x.mean(1) > 0)]]


@task("Save my table of trials as a structured array.", """
    SELECT * FROM npy_write('trials.npy', (SELECT npy_records('[("run", "<U6"), ("day", "<M8[D]"), ("loss", "<f8"), ("steps", "<u4")]',
      run, day, loss, steps) FROM (SELECT * FROM trials ORDER BY loss)));
    CREATE VIRTUAL TABLE temp.saved USING npy('trials.npy');
    SELECT * FROM saved""")
def table_to_records(g, db):
    rows = [(f"r{i}", str(np.datetime64("2026-03-01") + i * 17), g.random(), int(g.integers(0, 2**32))) for i in range(9)]
    table(db, "trials(run, day, loss REAL, steps INTEGER)", rows)
    return sorted(rows, key=lambda row: row[2])


@task("How many files of this folder are readable, and what is wrong with the others?", """
    SELECT coalesce(error_kind, 'fine'), count(DISTINCT path) FROM npy_meta('data/**') GROUP BY 1 ORDER BY 1""")
def folder_survey(g, db):
    whole = npy_bytes(g.normal(size=50))
    broken = whole.replace(b"'descr'", b"'decsr'")
    kinds = {"empty": b"", "fine": whole, "format": b"no array at all", "header": broken, "truncated": whole[:-9]}
    counts = [(kind, int(g.integers(1, 9))) for kind in kinds]
    for kind, n in counts:
        for i in range(n):
            put(f"data/{i % 2}/{kind}{i}.npy", kinds[kind])
    return counts


@task("Which learning rate reached the lowest loss for each optimizer, and in which epoch?", """
    SELECT e.optimizer, e.lr, min(s.min), s.argmin FROM log AS e JOIN npy_stats('runs/' || e.run || '/loss.npy') AS s
     GROUP BY e.optimizer ORDER BY e.optimizer""")
def best_runs(g, db):
    log = [(f"r{i}", "adam" if i % 2 else "sgd", 10.0**-i) for i in range(8)]
    table(db, "log(run, optimizer, lr)", log)
    losses = {run: save(f"runs/{run}/loss.npy", g.random(20)) for run, _, _ in log}
    best = {kind: min((losses[run].min(), lr, losses[run].argmin()) for run, o, lr in log if o == kind) for kind in ("adam", "sgd")}
    return [(kind, lr, loss, epoch) for kind, (loss, lr, epoch) in best.items()]


@task("Which three products are most like the kettle, by the embeddings stored in my table?", """
    SELECT p.name FROM products AS p, (SELECT embedding FROM products WHERE name = 'kettle') AS k
     WHERE p.name <> 'kettle' ORDER BY npy_distance(p.embedding, k.embedding, 'cosine') LIMIT 3""")
def embeddings_in_a_table(g, db):
    names = ["kettle", "pot", "lamp", "cup", "chair", "spoon", "door", "tray"]
    vectors = g.normal(size=(8, 16)).astype("f4")
    table(db, "products(name, embedding)", [(n, npy_bytes(v)) for n, v in zip(names, vectors)])
    unit = vectors.astype("f8") / np.linalg.norm(vectors.astype("f8"), axis=1)[:, None]
    return [(names[i],) for i in np.argsort(-(unit @ unit[0])) if i][:3]


@task("How much did we sell in each month?", """
    SELECT substr(d.value, 1, 7) AS month, sum(s.value) FROM npy_rows('day.npy') AS d JOIN npy_rows('sales.npy') AS s USING (row)
     GROUP BY month ORDER BY month""")
def monthly_sums(g, db):
    day = save("day.npy", np.datetime64("2025-11-20") + np.sort(g.integers(0, 200, 90)))
    sales = save("sales.npy", g.integers(1, 500, 90))
    months = day.astype("M8[M]")
    return [(str(m), sales[months == m].sum()) for m in np.unique(months)]


@task("Which detections are confident and large?", """
    CREATE VIRTUAL TABLE temp.detections USING npy('detections.npy');
    SELECT rowid, name, score FROM detections WHERE score > 0.5 AND w * h >= 40""")
def structured_filter(g, db):
    d = np.zeros(70, [("name", "U5"), ("score", "f8"), ("w", "i4"), ("h", "i4")])
    d["name"], d["score"] = g.choice(["cat", "dog", "heron"], 70), g.random(70)
    d["w"], d["h"] = g.integers(1, 12, (2, 70))
    save("detections.npy", d)
    return [(i, d["name"][i], d["score"][i]) for i in np.flatnonzero((d["score"] > 0.5) & (d["w"] * d["h"] >= 40))]


@task("Which of the settings in this object array used dropout?", """
    SELECT row, json_extract(value, '$.lr') FROM npy_rows('settings.npy') WHERE json_extract(value, '$.dropout') > 0""")
def object_dicts(g, db):
    settings = [{"lr": g.random(), "dropout": 0.1 * int(g.integers(0, 3))} if i % 5 else None for i in range(25)]
    save("settings.npy", np.array(settings, object))
    return [(i, s["lr"]) for i, s in enumerate(settings) if s and s["dropout"] > 0]


@task("Which words are the most frequent, however they are capitalised?",
      "SELECT lower(value) AS word, count(*) AS n FROM npy_rows('words.npy') GROUP BY word ORDER BY n DESC, word LIMIT 3")
def word_counts(g, db):
    words = save("words.npy", g.choice(["The", "the", "heron", "Reed", "reed", "pond", "THE", "a"], 300))
    return sorted(Counter(map(str.lower, words.tolist())).items(), key=lambda pair: (-pair[1], pair[0]))[:3]


@task("How many documents are in my token file, and how long are the shortest and the longest?", """
    WITH ends AS (SELECT row, row - lag(row, 1, -1) OVER (ORDER BY row) - 1 AS tokens
                    FROM npy_rows('{"path": "train.bin", "dtype": "<u2"}') WHERE value = 50256)
    SELECT count(*), min(tokens), max(tokens) FROM ends""")
def token_documents(g, db):
    sizes = g.integers(1, 60, 30)
    put("train.bin", np.concatenate([np.append(g.integers(0, 50256, n), 50256) for n in sizes]).astype("<u2").tobytes())
    return [(30, sizes.min(), sizes.max())]


@task("What are names, dtypes and shapes of the tensors in this .pt file?", "SELECT name, dtype, shape FROM npy_meta('model.pt')")
def torch_names(g, db):
    shapes = {f"layers.{i}.weight": tuple(map(int, g.integers(1, 5, 2))) for i in range(4)}
    kinds = ["Half", "Float", "Half", "Float"]
    parts = {name: tensor(kinds[i], str(i), r * c, 0, (r, c), (c, 1)) for i, (name, (r, c)) in enumerate(shapes.items())}
    put("model.pt", torch_zip({"model": parts}, {str(i): bytes(4 * r * c) for i, (r, c) in enumerate(shapes.values())}))
    return [(f"model.{name}", "float32" if i % 2 else "float16", shape) for i, (name, shape) in enumerate(shapes.items())]


@task("Write the moving average of two models, layer by layer.", """
    SELECT bytes > 0 FROM npy_write('ema.npz', (
      SELECT npz_archive(name, npy_calc('0.9 * a + 0.1 * b', x.array, y.array))
        FROM npy_file('ema_old.npz') AS x JOIN npy_file('step.npz') AS y USING (name)));
    SELECT name, npy_json(array) FROM npy_file('ema.npz') ORDER BY name""", 1e-15)
def average_models(g, db):
    old, new = (savez(path, **{k: g.normal(size=(3, 4)) for k in names}) for path, names in (("ema_old.npz", "abc"), ("step.npz", "cab")))
    return [(k, 0.9 * old[k] + 0.1 * new[k]) for k in "abc"]


@task("What is the IoU of the predicted and the true mask of each image?", """
    SELECT p.row, 1.0 * npy_sum(npy_calc('a & b', p.array, t.array)) / npy_sum(npy_calc('a | b', p.array, t.array))
      FROM npy_rows('pred.npy') AS p JOIN npy_rows('truth.npy') AS t USING (row)""", 1e-15)
def mask_iou(g, db):
    p, t = save("pred.npy", g.random((9, 6, 8)) < 0.5), save("truth.npy", g.random((9, 6, 8)) < 0.4)
    return [(i, (p[i] & t[i]).sum() / (p[i] | t[i]).sum()) for i in range(9)]


@task("What are the column means of a file that C++ dumped without a header after 16 bytes of its own?",
      """SELECT at, mean FROM npy_stats('{"path": "dump.raw", "dtype": ">f4", "offset": 16, "shape": [-1, 5]}', '', '', 0)""", 1e-12)
def raw_columns(g, db):
    x = g.normal(size=(30, 5)).astype(">f4")
    put("dump.raw", g.bytes(16) + x.tobytes())
    return list(enumerate(x.astype("f8").mean(0)))


def save_shards(g):
    """Three shards of eight samples: a class, a vector, and of two in three a caption."""
    samples = []
    for shard in range(3):
        members = {}
        for i in range(shard * 8, shard * 8 + 8):
            vector, label = g.normal(size=4).astype("f4"), int(g.integers(0, 3))
            parts = {"cls": str(label).encode(), "emb.npy": npy_bytes(vector), **({"txt": f"picture {i}".encode()} if i % 3 else {})}
            members.update({f"{i:06}.{ext}": contents for ext, contents in parts.items()})
            samples.append((f"{i:06}", label, vector))
        put(f"wds/train-{shard:06}.tar", tar_of(members))
    return samples


@task("How many samples has each class in my shards, and how many of them have no caption?", """
    CREATE VIRTUAL TABLE temp.train USING wds('wds/train-{000000..000002}.tar', columns='cls, txt');
    SELECT cls, count(*), sum(txt IS NULL) FROM train GROUP BY cls ORDER BY cls""")
def shard_classes(g, db):
    samples = save_shards(g)
    labels = np.array([label for _, label, _ in samples])
    return [(c, (labels == c).sum(), (labels[::3] == c).sum()) for c in np.unique(labels)]


@task("Write new shards of the samples whose vector is longer than 2.", """
    CREATE VIRTUAL TABLE temp.train USING wds('wds/train-{000000..000002}.tar');
    CREATE VIRTUAL TABLE temp.long USING wds('long-%03d.tar', mode='w+', maxcount=5, columns='cls, emb.npy');
    INSERT INTO long(__key__, cls, "emb.npy") SELECT __key__, cls, "emb.npy" FROM train WHERE npy_norm("emb.npy") > 2;
    SELECT key, npy_json(array) FROM npy_file('long-*.tar')""", 1e-6)
def shard_subset(g, db):
    return [(key, vector) for key, _, vector in save_shards(g) if np.linalg.norm(vector.astype("f8")) > 2]


@task("How many parameters has each block of the model, and how many bytes?", """
    SELECT json_extract('["' || replace(name, '.', '","') || '"]', '$[1]') AS block, sum(size), sum(nbytes)
      FROM npy_meta('model.safetensors') WHERE name LIKE 'blocks.%' GROUP BY block ORDER BY CAST(block AS INTEGER)""")
def block_parameters(g, db):
    layers = {f"blocks.{i}.{part}": np.zeros(g.integers(1, 6, 2), dtype) for i in range(12) for part, dtype in (("w", "f4"), ("b", "f2"))}
    put("model.safetensors", safetensors_bytes({**layers, "head": np.zeros((4, 4), "f4")}))
    blocks = [(layers[f"blocks.{i}.w"], layers[f"blocks.{i}.b"]) for i in range(12)]
    return [(str(i), w.size + b.size, w.nbytes + b.nbytes) for i, (w, b) in enumerate(blocks)]


@task("What is the greatest weight of each bfloat16 tensor, and where?", "SELECT name, max, argmax FROM npy_stats('b.safetensors')")
def bfloat16_extremes(g, db):
    bits = {f"t{i}": (g.normal(size=(4, 6)).astype("f4").view("u4") >> 16).astype("u2") for i in range(4)}
    put("b.safetensors", safetensors_bytes(bits, bits=dict.fromkeys(bits, "BF16")))
    wide = {name: (a.astype("u4") << 16).view("f4") for name, a in bits.items()}
    return [(name, a.max(), a.argmax()) for name, a in wide.items()]


@task("What are the row sums of my SciPy CSR matrix?", """
    SELECT s.row, coalesce(sum(d.value), 0.0)
      FROM npy_rows('x.npz', 'indptr') AS s JOIN npy_rows('x.npz', 'indptr') AS n ON n.row = s.row + 1
      LEFT JOIN npy_rows('x.npz', 'data') AS d ON d.row >= s.value AND d.row < n.value
     GROUP BY s.row ORDER BY s.row""", 1e-12)
def sparse_rows(g, db):
    dense = g.normal(size=(12, 9)) * (g.random((12, 9)) < 0.3)
    row, col = np.nonzero(dense)
    ends = np.append(0, np.cumsum(np.bincount(row, minlength=12))).astype("i4")
    savez("x.npz", indices=col.astype("i4"), indptr=ends, format=np.array(b"csr"), shape=np.array([12, 9]), data=dense[row, col])
    return list(enumerate(dense.sum(1)))


@task("Which feature correlates most with the last column, and how strongly?", """
    SELECT e.i1, e.value FROM npy_file('X.npy') AS f JOIN npy_elements(npy_corrcoef(f.array, 0)) AS e
     WHERE e.i0 = 5 AND e.i1 < 5 ORDER BY abs(e.value) DESC LIMIT 1""", 1e-10)
def strongest_correlation(g, db):
    x = save("X.npy", g.normal(size=(50, 6)))
    r = np.corrcoef(x.T)[5, :5]
    return [(np.abs(r).argmax(), r[np.abs(r).argmax()])]


@task("Standardise the columns of my features, and write them as float32.", """
    SELECT w.bytes > 0 FROM npy_file('X.npy') AS f,
           npy_write('Z.npy', npy_astype(npy_calc('(a - b) / c', f.array, npy_mean(f.array, 0), npy_std(f.array, 0)), 'float32')) AS w;
    SELECT dtype, npy_json(array) FROM npy_file('Z.npy') JOIN npy_meta('Z.npy') USING (path)""", 1e-6)
def standardise(g, db):
    x = save("X.npy", g.normal(size=(20, 4)) * 7 + 3)
    return [("float32", (x - x.mean(0)) / x.std(0))]


@task("What is the top-3 accuracy?", """
    SELECT avg(place <= 3) FROM (
      SELECT e.i0, e.i1, rank() OVER (PARTITION BY e.i0 ORDER BY e.value DESC) AS place FROM npy_elements('logits.npy') AS e) AS r
      JOIN npy_rows('y.npy') AS y ON y.row = r.i0 AND y.value = r.i1""", 1e-15)
def top_three(g, db):
    logits, y = save("logits.npy", g.normal(size=(80, 10)).astype("f4")), save("y.npy", g.integers(0, 10, 80).astype("u1"))
    return [((np.argsort(-logits, 1)[:, :3] == y[:, None]).any(1).mean(),)]


@task("What is the cross-entropy of my logits in each class?", """
    SELECT y.value, avg(log.value - e.value)
      FROM npy_file('logits.npy') AS f JOIN npy_rows(npy_calc('log(a)', npy_sum(npy_calc('exp(a)', f.array), 1))) AS log
      JOIN npy_rows('y.npy') AS y ON y.row = log.row JOIN npy_elements('logits.npy') AS e ON e.i0 = y.row AND e.i1 = y.value
     GROUP BY y.value ORDER BY y.value""", 1e-12)
def cross_entropy(g, db):
    logits, y = save("logits.npy", g.normal(size=(40, 5))), save("y.npy", g.integers(0, 5, 40))
    loss = -np.log(softmax(logits)[np.arange(40), y])
    return [(c, loss[y == c].mean()) for c in np.unique(y)]


@task("Which members of my archives are damaged?", "SELECT path, name FROM npz_members('*.npz') WHERE crc_ok = 0")
def damaged_members(g, db):
    damaged = []
    for i in range(4):
        arrays = {name: g.normal(size=6) for name in "abc"}
        contents, victim = npz_bytes(arrays), g.choice(list("abc"))
        put(f"{i}.npz", contents if i == 2 else contents.replace(arrays[victim][1:2].tobytes(), bytes(8)))
        damaged += [(f"{i}.npz", victim)] * (i != 2)
    return damaged


@task("Add today's measurements to the file that I have.", """
    CREATE VIRTUAL TABLE temp.log USING npy('log.npy', mode='a');
    INSERT INTO log SELECT value FROM today;
    SELECT count, sum FROM npy_stats('log.npy')""", 1e-12)
def append_rows(g, db):
    old, new = save("log.npy", g.normal(size=40)), g.normal(size=15)
    table(db, "today(value)", [(v,) for v in new])
    return [(55, old.sum() + new.sum())]


@task("Swap the labels 3 and 5 in place.", """
    CREATE VIRTUAL TABLE temp.fix USING npy('y.npy', mode='r+');
    UPDATE fix SET value = 8 - value WHERE value IN (3, 5);
    SELECT npy_json(array) FROM npy_file('y.npy')""")
def swap_labels(g, db):
    y = save("y.npy", g.integers(0, 7, 60).astype("u1"))
    return [(np.where((y == 3) | (y == 5), 8 - y, y),)]


@task("Which validation rows are also in the training set?", """
    SELECT row FROM npy_rows('valid.npy') WHERE data IN (SELECT data FROM npy_rows('train.npy'))""")
def leaked_rows(g, db):
    train = save("train.npy", g.integers(0, 4, (60, 3)).astype("f4"))
    valid = save("valid.npy", g.integers(0, 4, (25, 3)).astype("f4"))
    return [(i,) for i, row in enumerate(valid) if (train == row).all(1).any()]


@task("What are mean and standard deviation of a feature that is cut into files of unequal length?",
      "SELECT mean, std, count FROM npy_stats(npy_concat('part-*.npy'), '', ':, 1')", 1e-12)
def merged_moments(g, db):
    parts = [save(f"part-{i:02}.npy", g.normal(i, 1, (g.integers(1, 30), 3))) for i in range(11)]
    column = np.concatenate(parts)[:, 1]
    return [(column.mean(), column.std(), column.size)]


@task("What are mean and deviation of each colour over all image batches, scaled to 0 to 1?",
      "SELECT at, mean / 255, std / 255 FROM npy_stats(npy_concat('images/*.npy'), '', '', '[0, 1, 2]')", 1e-12)
def channel_statistics(g, db):
    images = np.concatenate([save(f"images/{i}.npy", g.integers(0, 256, (4, 5, 6, 3)).astype("u1")) for i in range(3)]) / 255
    return list(zip(range(3), images.mean((0, 1, 2)), images.std((0, 1, 2))))


@task("Which ids are in both files, and in which rows?", """
    WITH b AS MATERIALIZED (SELECT row, value FROM npy_rows('b.npy'))
    SELECT a.value, a.row, b.row FROM npy_rows('a.npy') AS a CROSS JOIN b ON a.value = b.value ORDER BY a.value""")
def common_ids(g, db):
    a, b = (save(path, g.permutation(90)[:40]) for path in ("a.npy", "b.npy"))
    return list(zip(*np.intersect1d(a, b, return_indices=True)))


@task("Pack a folder of arrays into one compressed archive.", """
    SELECT bytes > 0 FROM npy_write('all.npz', (SELECT npz_archive(stem, array, 'deflate') FROM npy_file('parts/*.npy')));
    SELECT m.name, m.compression, s.sum FROM npy_meta('all.npz') AS m JOIN npy_stats(m.path, m.name) AS s ORDER BY m.name""")
def pack_folder(g, db):
    return [(f"p{i}", "deflate", save(f"parts/p{i}.npy", g.integers(-99, 99, (i + 1, 3))).sum()) for i in range(6)]


# --- as people ask them ------------------------------------------------------------------------------------


@task("Show features, label and class name of the rows with a negative first feature, all out of one .npz.", """
    SELECT x.row, y.value, n.value, x.value FROM npy_rows('data.npz', 'X') AS x JOIN npy_rows('data.npz', 'y') AS y USING (row)
      JOIN npy_rows('data.npz', 'names') AS n ON n.row = y.value WHERE npy_get(x.array, 0) < 0 ORDER BY x.row""")
def joined_members(g, db):
    names = ["heron", "coot", "grebe"]
    d = savez("data.npz", names=np.array(names), y=g.integers(0, 3, 30).astype("u1"), X=g.normal(size=(30, 2)))
    return [(i, d["y"][i], names[d["y"][i]], d["X"][i]) for i in range(30) if d["X"][i, 0] < 0]


@task("How many epochs has each run of my log, also of the runs that left no file?", """
    SELECT r.run, m.size FROM runs AS r LEFT JOIN npy_meta('runs/*/loss.npy') AS m ON m.parent = r.run ORDER BY r.run""")
def runs_without_files(g, db):
    table(db, "runs(run)", [(f"r{i}",) for i in range(7)])
    epochs = [int(n) for n in g.integers(1, 50, 7)]
    for i in (0, 2, 3, 6):
        save(f"runs/r{i}/loss.npy", g.random(epochs[i]))
    return [(f"r{i}", n if i in (0, 2, 3, 6) else None) for i, n in enumerate(epochs)]


@task("At which step was the spread of each layer the greatest?", """
    SELECT name, CAST(substr(stem, 6) AS INTEGER) AS step, max(std) FROM npy_stats('ckpt/step_*.npz') GROUP BY name ORDER BY name""", 1e-12)
def layer_spreads(g, db):
    names = ("attn", "mlp", "norm")
    steps = {s: savez(f"ckpt/step_{s}.npz", **{k: g.normal(0, g.random(), (5, 5)) for k in names}) for s in (9, 20, 100, 1000)}
    best = {k: max((a[k].std(), s) for s, a in steps.items()) for k in names}
    return [(k, s, std) for k, (std, s) in best.items()]


@task("What are the two best classes of each row, with their logits?", """
    SELECT i0, place, i1, value FROM (
      SELECT i0, i1, value, row_number() OVER (PARTITION BY i0 ORDER BY value DESC) AS place FROM npy_elements('logits.npy'))
     WHERE place <= 2 ORDER BY i0, place""")
def two_best(g, db):
    logits = save("logits.npy", g.normal(size=(15, 6)).astype("f4"))
    return [(i, p + 1, j, row[j]) for i, row in enumerate(logits) for p, j in enumerate(np.argsort(-row)[:2])]


@task("Where did the loss jump the most from one step to the next?", """
    SELECT row, value - lag(value) OVER (ORDER BY row) AS jump FROM npy_rows('loss.npy') ORDER BY jump DESC LIMIT 1""")
def greatest_jump(g, db):
    jumps = np.diff(save("loss.npy", g.random(50)))
    return [(jumps.argmax() + 1, jumps.max())]


@task("Write my rows without repetitions, the first of each, in their old order.", """
    CREATE VIRTUAL TABLE temp.once USING npy('once.npy', mode='w+', dtype='int32', shape='[-1, 2]');
    INSERT INTO once SELECT data FROM npy_rows('X.npy') GROUP BY data ORDER BY min(row);
    SELECT row, value FROM npy_rows('once.npy')""")
def without_repetitions(g, db):
    rows = save("X.npy", g.integers(0, 4, (50, 2)).astype(">i4")).tolist()
    return list(enumerate(dict.fromkeys(map(tuple, rows))))


@task("Take the three rows of each class with the greatest score.", """
    SELECT label, row, score FROM (
      SELECT y.value AS label, row, s.value AS score, row_number() OVER (PARTITION BY y.value ORDER BY s.value DESC) AS place
        FROM npy_rows('y.npy') AS y JOIN npy_rows('score.npy') AS s USING (row))
     WHERE place <= 3 ORDER BY label, place""")
def best_of_each_class(g, db):
    y, score = save("y.npy", g.choice(["a", "b", "c"], 60)), save("score.npy", g.random(60))
    return [(c, i, score[i]) for c in np.unique(y) for i in sorted(np.flatnonzero(y == c), key=lambda i: -score[i])[:3]]


@task("Normalise each colour channel of my images to mean 0 and deviation 1.", """
    SELECT dtype, shape FROM npy_file('images.npy') AS f, npy_write('normal.npy',
      npy_calc('(a - b) / c', f.array, npy_mean(f.array, '[0, 1, 2]'), npy_std(f.array, '[0, 1, 2]'))) AS w JOIN npy_meta(w.path);
    SELECT i0, i1, i2, i3, value FROM npy_elements('normal.npy')""", 1e-12)
def normalised_images(g, db):
    images = save("images.npy", g.integers(0, 256, (3, 4, 5, 3)).astype("u1")).astype("f8")
    normal = (images - images.mean((0, 1, 2))) / images.std((0, 1, 2))
    return [(*at, value) for at, value in np.ndenumerate(normal)]


@task("How many events fell on the morning of the 2nd of January?", """
    SELECT count(*) FROM npy_rows('events.npy') WHERE value >= '2026-01-02 06:00' AND value < '2026-01-02 12:00'""")
def morning_events(g, db):
    t = save("events.npy", np.datetime64("2026-01-01", "ns") + g.integers(0, 3 * 86_400 * 10**9, 400))
    return [(((t >= np.datetime64("2026-01-02T06")) & (t < np.datetime64("2026-01-02T12"))).sum(),)]


@task("How many hours did each job run in total?", """
    SELECT j.value, sum(t.value) / 3600e3 FROM npy_rows('job.npy') AS j JOIN npy_rows('took.npy') AS t USING (row)
     GROUP BY j.value""", 1e-12)
def total_durations(g, db):
    took, job = g.integers(0, 10**8, 50).astype("m8[ms]"), save("job.npy", g.choice([b"fit", b"eval", b"pack"], 50))
    took[::7] = np.timedelta64("NaT")
    save("took.npy", took)
    return [(j.decode(), took[(job == j) & ~np.isnat(took)].astype("i8").sum() / 3600e3) for j in np.unique(job)]


@task("Which frequency of each spectrum is the strongest, and what is its power?", """
    SELECT s.at, s.argmax, s.max FROM npy_file('spectra.npy') AS f
      JOIN npy_stats(npy_calc('abs(a) ** 2', f.array), '', '', 1) AS s""", 1e-12)
def strongest_frequency(g, db):
    s = save("spectra.npy", np.fft.rfft(g.normal(size=(6, 32))))
    return [(i, row.argmax(), row.max()) for i, row in enumerate(np.abs(s) ** 2)]


@task("How many pixels are road but neither wet nor hidden?", """
    SELECT npy_sum(npy_calc('a & ~(b | c)', r.array, w.array, h.array))
      FROM npy_file('m.npz', 'road') AS r, npy_file('m.npz', 'wet') AS w, npy_file('m.npz', 'hidden') AS h""")
def combined_masks(g, db):
    m = savez("m.npz", **{name: g.random((20, 30)) < 0.5 for name in ("hidden", "road", "wet")})
    return [((m["road"] & ~(m["wet"] | m["hidden"])).sum(),)]


@task("In the order of their steps: which loss does each checkpoint record?", """
    SELECT s.value AS step, l.value FROM npy_rows('ckpt/*.npz', 'step') AS s JOIN npy_rows(s.path, 'loss') AS l ORDER BY step""")
def scalars_of_checkpoints(g, db):
    saved = [savez(f"ckpt/{i}.npz", w=g.normal(size=3), step=np.array(int(g.integers(10**6))), loss=np.array(g.random())) for i in range(7)]
    return sorted((a["step"], a["loss"]) for a in saved)


@task("What are row 11 and the sum of column 2 of this Fortran-ordered matrix?", """
    SELECT (SELECT value FROM npy_rows('F.npy') WHERE row = 11), sum FROM npy_stats('F.npy', '', ':, 2')""")
def fortran_order(g, db):
    x = save("F.npy", np.asfortranarray(g.integers(-1000, 1000, (40, 5))))
    return [(x[11], x[:, 2].sum())]


@task("Which samples of the seismogram, written on a big-endian machine, exceed three deviations?", """
    SELECT r.row, r.value FROM npy_stats('big.npy') AS s JOIN npy_rows('big.npy') AS r ON abs(r.value - s.mean) > 3 * s.std""", 1e-12)
def big_endian(g, db):
    x = g.normal(size=500)
    x[g.integers(500, size=4)] += 9
    x = save("big.npy", x.astype(">f8"))
    return [(i, x[i]) for i in np.flatnonzero(np.abs(x - x.mean()) > 3 * x.std())]


@task("What are the last five rows, the last one first, and only every other column?",
      "SELECT row, value FROM npy_rows('X.npy', '', ':-6:-1, ::2')")
def last_rows(g, db):
    x = save("X.npy", g.integers(0, 99, (33, 7)).astype("i2"))
    return [(32 - i, row) for i, row in enumerate(x[:-6:-1, ::2])]


@task("What is the mean of `mu` in the latent.npz of each sample of a compressed shard?",
      "SELECT key, mean FROM npy_stats('shard.tar.gz') WHERE ext = 'latent.npz' AND name LIKE '%:mu'", 1e-12)
def nested_archives(g, db):
    latents = {f"{i:04}": {"logvar": g.normal(size=4), "mu": g.normal(size=(2, 3))} for i in range(8)}
    members = {f"{key}.{ext}": part for key, a in latents.items() for ext, part in (("cls", b"1"), ("latent.npz", npz_bytes(a)))}
    put("shard.tar.gz", gzipped(tar_of(members)))
    return [(key, a["mu"].mean()) for key, a in latents.items()]


@task("Give me page 3 of the best scores, ten on a page.",
      "SELECT row, value FROM npy_rows('score.npy') ORDER BY value DESC LIMIT 10 OFFSET 20")
def third_page(g, db):
    score = save("score.npy", g.random(77))
    return [(i, score[i]) for i in np.argsort(-score)[20:30]]


@task("Give me the summary of all arrays as one JSON document.", """
    SELECT json_group_object(name, json_object('shape', shape, 'dtype', dtype)) FROM npy_meta('d.npz')""")
def json_document(g, db):
    arrays = savez("d.npz", **{f"a{i}": np.zeros(g.integers(1, 9, i), g.choice(["f4", "i8", "u2"])) for i in range(5)})
    return [({name: {"shape": list(a.shape), "dtype": a.dtype.name} for name, a in arrays.items()},)]


@task("Print a CSV line for each loss, with all the digits that Python would print.",
      "SELECT row || ',' || npy_json(array) FROM npy_rows('loss.npy')")
def all_digits(g, db):
    return [(f"{i},{v!r}",) for i, v in enumerate(save("loss.npy", g.random(30) + 1).tolist())]


@task("Which arrays of two folders differ or lack a partner, by file name?", """
    SELECT stem, status FROM npy_compare('old/*.npy', 'new/*.npy') WHERE status <> 'equal'""")
def two_folders(g, db):
    found = []
    for i in range(9):
        array, status = save(f"old/a{i}.npy", g.normal(size=5)), g.choice(["equal", "differs", "only_a"]) if i else "only_a"
        if status != "only_a":
            save(f"new/a{i}.npy", array + 1e-9 * (status == "differs"))
        found += [(f"a{i}", status)] * (status != "equal")
    return found


@task("Which rows lie within a distance of 1.5 of row 0?", """
    SELECT row, distance FROM npy_nearest('X.npy', '', '', (SELECT array FROM npy_rows('X.npy') WHERE row = 0))
     WHERE max_distance = 1.5""", 1e-12)
def within_a_distance(g, db):
    x = save("X.npy", g.normal(size=(100, 3)))
    d = np.linalg.norm(x - x[0], axis=1)
    return [(i, d[i]) for i in np.argsort(d) if d[i] <= 1.5]


@task("Show dtype and shape beside the statistics of each array.", """
    SELECT name, dtype, shape, min, max FROM npy_stats('d.npz')""")
def headers_and_statistics(g, db):
    arrays = savez("d.npz", **{f"a{i}": (g.normal(size=(i + 1, 4)) * 50).astype(g.choice(["f4", "i8", "i2"])) for i in range(5)})
    return [(name, a.dtype.name, a.shape, a.min(), a.max()) for name, a in arrays.items()]


@task("Put two feature matrices side by side into one file.", """
    SELECT bytes > 0 FROM npy_write('both.npy', npy_concat('["a.npy", "b.npy"]', '', 1));
    SELECT value FROM npy_rows('both.npy')""")
def side_by_side(g, db):
    return [(row,) for row in np.hstack([save("a.npy", g.normal(size=(8, 2))), save("b.npy", g.normal(size=(8, 3)))])]


@task("Concatenate each row of two embeddings, of the rows whose label is 1, into one file.", """
    SELECT bytes > 0 FROM npy_write('pair.npy', (
      SELECT npy_stack(CAST(a.data || b.data AS BLOB), 'f8') FROM npy_rows('a.npy') AS a JOIN npy_rows('b.npy') AS b USING (row)
        JOIN npy_rows('y.npy') AS y USING (row) WHERE y.value = 1));
    SELECT value FROM npy_rows('pair.npy')""")
def pairs_of_rows(g, db):
    a, b, y = (save("a.npy", g.normal(size=(20, 2))), save("b.npy", g.normal(size=(20, 3))),
               save("y.npy", g.integers(0, 2, 20)))
    return [(row,) for row in np.hstack([a, b])[y == 1]]


@task("In which epoch would early stopping with a patience of three have stopped?", """
    SELECT min(row) FROM (SELECT row, min(value) OVER (ORDER BY row ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS recent,
      min(value) OVER (ORDER BY row ROWS BETWEEN UNBOUNDED PRECEDING AND 3 PRECEDING) AS best FROM npy_rows('loss.npy'))
     WHERE recent >= best""")
def early_stopping(g, db):
    loss = save("loss.npy", g.random(60))
    return [(next(i for i in range(3, 60) if loss[i - 2 : i + 1].min() >= loss[: i - 2].min()),)]


@task("On which days did the sensor send nothing?", """
    WITH RECURSIVE days(day) AS (SELECT '2026-02-01' UNION ALL SELECT date(day, '+1 day') FROM days WHERE day < '2026-03-31')
    SELECT day FROM days WHERE day NOT IN (SELECT date(value) FROM npy_rows('seen.npy'))""")
def silent_days(g, db):
    seen = save("seen.npy", np.datetime64("2026-02-01T00:00:00") + g.integers(0, 59 * 86400, 60))
    days = np.arange(np.datetime64("2026-02-01"), np.datetime64("2026-04-01"))
    return [(str(day),) for day in days[~np.isin(days, seen.astype("M8[D]"))]]


@task("Which items are more than four deviations from the mean of their column?", """
    SELECT e.i0, e.i1, e.value FROM npy_stats('X.npy', '', '', 0) AS s JOIN npy_elements('X.npy') AS e ON e.i1 = s.at
     WHERE abs(e.value - s.mean) > 4 * s.std ORDER BY e.i0, e.i1""")
def outliers(g, db):
    x = g.normal(size=(300, 4))
    x[g.integers(300, size=6), g.integers(4, size=6)] += 12
    save("X.npy", x)
    return [(i, j, x[i, j]) for i, j in np.argwhere(np.abs(x - x.mean(0)) > 4 * x.std(0))]


@task("In which row is the user with this id of twenty digits?",
      "SELECT row FROM npy_rows('ids.npy') WHERE value = '18446744073709551557'")
def great_ids(g, db):
    ids = g.integers(2**63, 2**64 - 100, 50, "u8")
    ids[[at := int(g.integers(50)), (at + 7) % 50]] = 18446744073709551557, 18446744073709551558
    save("ids.npy", ids)
    return [(at,)]


@task("What are precision and recall of each class?", """
    WITH pairs AS (SELECT y.value AS t, p.value AS p FROM npy_rows('y.npy') AS y JOIN npy_rows('pred.npy') AS p USING (row))
    SELECT k.value, (SELECT avg(t = k.value) FROM pairs WHERE p = k.value), (SELECT avg(p = k.value) FROM pairs WHERE t = k.value)
      FROM npy_unique('y.npy') AS k""", 1e-12)
def precision_and_recall(g, db):
    y, p = save("y.npy", g.integers(0, 4, 100)), save("pred.npy", g.integers(0, 4, 100))
    return [(k, (y[p == k] == k).mean(), (p[y == k] == k).mean()) for k in np.unique(y)]


@task("Where is the mean position of the particles of each kind, out of a field with three coordinates?", """
    SELECT s.label, s.at, s.mean FROM npy_stats('particles.npy', '', '', 0, 'pos') AS s WHERE s.by = 'kind.npy'""", 1e-12)
def subarrays(g, db):
    p = np.zeros(40, [("pos", "f8", 3), ("id", "i4")])
    p["pos"] = g.normal(size=(40, 3))
    save("particles.npy", p)
    kind = save("kind.npy", g.choice(["e", "p"], 40))
    return [(k, i, p["pos"][kind == k, i].mean()) for k in np.unique(kind) for i in range(3)]


@task("What is the mean entropy of each attention head?", """
    SELECT e.i0, avg(e.value) FROM npy_file('attention.npy') AS f
      JOIN npy_elements(npy_sum(npy_calc('-a * log(a)', f.array), 2)) AS e GROUP BY e.i0""", 1e-12)
def attention_entropy(g, db):
    a = save("attention.npy", softmax(g.normal(size=(24, 6))).reshape(4, 6, 6))
    return list(enumerate((-a * np.log(a)).sum(2).mean(1)))


@task("Reduce the signal to the mean of each ten samples.", """
    SELECT r.row, r.value FROM npy_file('signal.npy') AS f JOIN npy_rows(npy_mean(npy_reshape(f.array, '[-1, 10]'), 1)) AS r""", 1e-12)
def resampled(g, db):
    return list(enumerate(save("signal.npy", g.normal(size=400)).reshape(-1, 10).mean(1)))


@task("What was the return of each episode, given rewards and done flags?", """
    SELECT episode, sum(reward) FROM (
      SELECT r.value AS reward, coalesce(sum(d.value) OVER (ORDER BY row ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS episode
        FROM npy_rows('replay.npz', 'reward') AS r JOIN npy_rows('replay.npz', 'done') AS d USING (row)) GROUP BY episode""", 1e-12)
def episode_returns(g, db):
    r = savez("replay.npz", reward=g.normal(size=100), done=g.random(100) < 0.1)
    parts = np.split(r["reward"], np.flatnonzero(r["done"]) + 1)
    return [(i, part.sum()) for i, part in enumerate(parts) if part.size]


@task("Which clips of the CSV have no file, and which files are not in the CSV?", """
    SELECT 'no file', name FROM clips WHERE name NOT IN (SELECT stem FROM npy_paths('clips/*.npy'))
     UNION ALL SELECT 'not in the CSV', stem FROM npy_paths('clips/*.npy') WHERE stem NOT IN (SELECT name FROM clips) ORDER BY 1, 2""")
def missing_clips(g, db):
    listed, there = (sorted(g.permutation(20)[:12].tolist()) for _ in range(2))
    table(db, "clips(name)", [(f"clip{i:02}",) for i in listed])
    for i in there:
        save(f"clips/clip{i:02}.npy", np.zeros(2))
    pairs = ("no file", set(listed) - set(there)), ("not in the CSV", set(there) - set(listed))
    return [(what, f"clip{i:02}") for what, numbers in pairs for i in sorted(numbers)]


@task("Turn my long table of ratings into a matrix, users by items, and save it.", """
    SELECT bytes > 0 FROM npy_write('ratings.npy', (SELECT npy_array(stars, 'f4', '[-1, 4]') FROM (
      SELECT r.stars FROM (SELECT DISTINCT user FROM ratings) AS u CROSS JOIN (SELECT DISTINCT item FROM ratings) AS i
        LEFT JOIN ratings AS r ON r.user = u.user AND r.item = i.item ORDER BY u.user, i.item)));
    SELECT row, value FROM npy_rows('ratings.npy')""")
def ratings_matrix(g, db):
    matrix = np.where(g.random((6, 4)) < 0.6, g.integers(1, 6, (6, 4)), np.nan)
    np.fill_diagonal(matrix, 5)
    matrix[4:, 0] = 1
    places = g.permutation(np.argwhere(~np.isnan(matrix)))
    table(db, "ratings(user, item, stars)", [(f"u{u}", f"i{i}", matrix[u, i]) for u, i in places])
    return list(enumerate(matrix))


@task("Which arrays are in this pickled model, and which of them has the largest norm?", """
    SELECT name, npy_shape(array), npy_norm(array) AS norm FROM npy_file('model.pkl') ORDER BY norm DESC""", 1e-12)
def pickled_arrays(g, db):
    arrays = [g.normal(size=g.integers(1, 6, 2)) for _ in range(4)]
    put("model.pkl", pickle.dumps({"name": "m", "layers": arrays, "epochs": 3}))
    order = sorted(range(4), key=lambda i: -np.linalg.norm(arrays[i]))
    return [(f"layers.{i}", arrays[i].shape, np.linalg.norm(arrays[i])) for i in order]


@task("Which median has the first feature in each class?", """
    SELECT y.value, npy_median(npy_array(x.value))
      FROM npy_rows('X.npy', '', ':, 0') AS x JOIN npy_rows('y.npy') AS y USING (row) GROUP BY y.value""", 1e-15)
def median_by_class(g, db):
    x, y = save("X.npy", g.normal(size=(90, 3))), save("y.npy", g.integers(0, 4, 90))
    return [(c, np.median(x[y == c, 0])) for c in np.unique(y)]


@task("Between which values lie the middle 80 % of the losses of each kind of run?", """
    WITH kinds AS (SELECT k.value AS kind, npy_array(l.value) AS losses
                     FROM npy_rows('kind.npy') AS k JOIN npy_rows('loss.npy') AS l USING (row) GROUP BY k.value)
    SELECT kind, q.q, q.value FROM kinds JOIN npy_quantile(losses, '', '', '[0.1, 0.9]') AS q ORDER BY kind, q.q""", 1e-12)
def quantiles_by_label(g, db):
    loss, kind = save("loss.npy", g.random(90)), save("kind.npy", g.choice(["long", "short"], 90))
    return [(k, q, np.quantile(loss[kind == k], q)) for k in np.unique(kind) for q in (0.1, 0.9)]


@task("What is the mean reward of each team, which is a field of another structured array?", """
    SELECT s.label, s.mean FROM npy_stats('reward.npy') AS s
     WHERE s.by = (SELECT npy_field(array, 'team') FROM npy_file('players.npy'))""", 1e-12)
def labels_of_a_field(g, db):
    players = np.zeros(50, [("id", "i4"), ("team", "U3")])
    players["team"] = g.choice(["red", "tan"], 50)
    save("players.npy", players)
    reward = save("reward.npy", g.normal(size=(50, 2)))
    return [(t, reward[players["team"] == t].mean()) for t in ("red", "tan")]


@task("Compare the mean loss of the rows with a positive first feature with that of the others.", """
    SELECT s.label, s.count, s.mean FROM npy_file('X.npy') AS f JOIN npy_stats('loss.npy') AS s
     WHERE s.by = npy_calc('a > 0', npy_slice(f.array, ':, 0'))""", 1e-12)
def computed_labels(g, db):
    positive, loss = save("X.npy", g.normal(size=(70, 2)))[:, 0] > 0, save("loss.npy", g.random(70))
    return [(c, (positive == c).sum(), loss[positive == c].mean()) for c in (0, 1)]


@task("Put four images into one picture, two by two.", """
    SELECT npy_shape(grid), npy_json(grid), substr(npy_png(grid), 2, 3)
      FROM (SELECT npy_reshape(npy_transpose(npy_reshape(npy_slice(array, ':4'), '[2, 2, 5, 7]'), '[0, 2, 1, 3]'), '[10, 14]') AS grid
              FROM npy_file('batch.npy'))""")
def grid_of_images(g, db):
    images = save("batch.npy", g.integers(0, 256, (6, 5, 7)).astype("u1"))
    grid = np.vstack([np.hstack(images[:2]), np.hstack(images[2:4])])
    return [(list(grid.shape), grid, b"PNG")]
