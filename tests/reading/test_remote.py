"""URLs, read through a host's functions: how many calls each kind of question takes, and what becomes of wrong answers.
What is read is compared with the same file on disk. Real servers are in clients/clients_remote.py."""

import io
import json
import os
import random
import re
import sqlite3

import numpy as np
import pytest

import remote
import shell
from arrays import npy_bytes, seeded_generator
from expected import counters, error_of, since
from safetensors_files import safetensors_bytes
from tars import member, tar
from torch_files import tensor, torch_zip

BLOCK = 1 << 16  # NPYX_REMOTE_BLOCK_NBYTES


def npz_bytes(arrays, save=np.savez):
    out = io.BytesIO()
    save(out, **arrays)
    return out.getvalue()


@pytest.fixture
def host():
    return remote.Host()


@pytest.fixture
def db(connect, host):
    return host.bind(connect())


def ask(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


# --- what is asked ----------------------------------------------------------------------------------------------------


def test_a_file_takes_two_calls_and_none_again(db, host):
    array = np.arange(12.0).reshape(3, 4)
    host.files["s3://b/x.npy"] = npy_bytes(array)
    before = counters(db)
    for _ in range(2):
        assert ask(db, "SELECT row, value FROM npy_rows('s3://b/x.npy')") == [(i, json.dumps(row.tolist()).replace(" ", "")) for i, row in enumerate(array)]
    assert host.take() == (["info", "read"], {"s3://b/x.npy": len(npy_bytes(array))})
    told = since(db, before)
    assert (told["remote_calls"], told["remote_bytes"]) == (2, len(npy_bytes(array)))
    assert told["files_opened"] == 1 and told["bytes_read"] == told["read_calls"] == 0


def test_a_survey_asks_for_many_files_at_once(db, host):
    arrays = {f"s3://b/r/{i:04}.npy": np.full((i % 7, 3), i) for i in range(1000)}
    host.files.update({url: npy_bytes(array) for url, array in arrays.items()})
    found = ask(db, "SELECT path, shape FROM npy_meta('s3://b/r/*.npy')")
    assert found == [(url, str(list(array.shape)).replace(" ", "")) for url, array in arrays.items()]
    names, nbytes = host.take()
    assert names == ["glob"] + ["read"] * 21  # of 1, 2, 4, ..., 64, 64, ... files
    assert nbytes == {url: len(contents) for url, contents in host.files.items()}


def test_a_list_asks_once_for_many_files(db, host):
    urls = [f"s3://b/{i}.npy" for i in range(100)]
    host.files.update({url: npy_bytes(np.arange(i)) for i, url in enumerate(urls)})
    assert ask(db, "SELECT count(*) FROM npy_meta(?)", json.dumps(urls)) == [(100,)]
    assert host.take()[0] == ["info", "read"] * 7


def test_headers_of_an_npz_are_asked_for_together(db, host):
    arrays = {f"m{i:03}": np.arange(i * 100.0) for i in range(200)}
    host.files["s3://b/z.npz"] = npz_bytes(arrays)
    assert ask(db, "SELECT name, shape FROM npy_meta('s3://b/z.npz')") == [(name, f"[{len(array)}]") for name, array in arrays.items()]
    names, nbytes = host.take()
    assert names == ["info", "read", "read"]
    assert nbytes["s3://b/z.npz"] <= len(host.files["s3://b/z.npz"])


def test_a_large_safetensors_file_is_surveyed_by_its_header(db, host):
    model = {f"layer.{i}": np.zeros((100, 1000), "f4") for i in range(10)}
    host.files.update({f"s3://b/{k}.safetensors": safetensors_bytes(model) for k in range(8)})
    assert ask(db, "SELECT count(*) FROM npy_meta('s3://b/*.safetensors')") == [(80,)]
    names, nbytes = host.take()
    assert names == ["glob"] + ["read"] * 4 and set(nbytes.values()) == {BLOCK}


def test_a_search_for_nan_reads_each_byte_once(db, host):
    rng = seeded_generator()
    model = {f"layer.{i}": rng.normal(size=(300, 1000 + i)).astype("f4") for i in range(20)}
    model["layer.7"][3, 4] = np.nan
    host.files.update({f"s3://b/{k}.safetensors": safetensors_bytes(model) for k in range(4)})
    found = ask(db, "SELECT path, name FROM npy_stats('s3://b/*.safetensors') WHERE nulls > 0")
    assert found == [(f"s3://b/{k}.safetensors", "layer.7") for k in range(4)]
    names, nbytes = host.take()
    assert nbytes == {url: len(contents) for url, contents in host.files.items()}
    assert len(names) < 60


def test_first_bytes_of_large_files_are_not_asked_for_too_early(db, host):
    """They would not be kept until they are wanted."""
    host.files.update({f"s3://b/{i}.npy": npy_bytes(np.zeros(4_000_000)) for i in range(5)})
    assert ask(db, "SELECT sum(nulls) FROM npy_stats('s3://b/*.npy')") == [(0,)]
    assert host.take()[1] == {url: len(contents) for url, contents in host.files.items()}


def test_a_checkpoint_is_surveyed_by_its_directory_and_pickle(db, host):
    tree = {f"w{i}": tensor("FloatStorage", str(i), 100_000, 0, (100_000,), (1,)) for i in range(20)}
    host.files["s3://b/x.pt"] = torch_zip(tree, {str(i): bytes(400_000) for i in range(20)})
    assert ask(db, "SELECT count(*) FROM npy_meta('s3://b/x.pt')") == [(20,)]
    names, nbytes = host.take()
    assert names == ["info", "read"] and nbytes["s3://b/x.pt"] < 3 * BLOCK


def test_a_sample_by_its_range_is_one_read(db, host):
    members = [member(f"{i:05}.npy", npy_bytes(np.full(5000, i))) for i in range(300)]
    host.files["s3://b/s.tar"] = tar(*members)
    nbytes = len(members[0])
    for i, calls in ((250, ["info", "read"]), (10, ["read"])):
        source = json.dumps({"path": "s3://b/s.tar", "offset": i * nbytes, "nbytes": nbytes})
        assert ask(db, "SELECT count(*), avg(value) FROM npy_rows(?)", source) == [(5000, i)]
        assert host.take()[0] == calls


def test_a_shard_without_an_index_is_read_through_once(db, host):
    members = [member(f"{i:05}.{ext}", contents) for i in range(2000) for ext, contents in (("npy", npy_bytes(np.full(100, i))), ("cls", b"1"))]
    host.files["s3://b/s.tar"] = contents = tar(*members)
    assert ask(db, "SELECT count(*) FROM tar_members('s3://b/s.tar')") == [(4000,)]
    names, nbytes = host.take()
    assert len(names) < 12 and nbytes["s3://b/s.tar"] <= len(contents)
    assert ask(db, "SELECT sum(value) FROM npy_rows('s3://b/s.tar', '01234.npy')") == [(123400,)]
    assert host.take() == ([], {})


def test_large_members_of_a_shard_are_not_read(db, host):
    members = [member(f"{i}.npy", npy_bytes(np.zeros(500_000))) for i in range(10)]
    host.files["s3://b/s.tar"] = tar(*members)
    assert ask(db, "SELECT count(*) FROM tar_members('s3://b/s.tar')") == [(10,)]
    assert host.take()[1]["s3://b/s.tar"] <= 12 * BLOCK


def test_a_look_up_after_a_survey_knows_the_file(db, host):
    host.files.update({f"s3://b/{i}.npy": npy_bytes(np.arange(100_000) + i) for i in range(3)})
    assert ask(db, "SELECT count(*) FROM npy_meta('s3://b/*.npy')") == [(3,)]
    host.take()
    assert ask(db, "SELECT value FROM npy_rows('s3://b/1.npy') WHERE row = 77777") == [(77778,)]
    assert host.take() == (["read"], {"s3://b/1.npy": BLOCK})


def test_statistics_double_what_they_ask_for(db, host):
    array = seeded_generator().normal(size=2_000_000)
    host.files["s3://b/x.npy"] = contents = npy_bytes(array)
    assert ask(db, "SELECT min, max FROM npy_stats('s3://b/x.npy')") == [(array.min(), array.max())]
    names, nbytes = host.take()
    assert len(names) < 14 and nbytes == {"s3://b/x.npy": len(contents)}


def test_a_look_up_reads_its_block_alone(db, host):
    array = seeded_generator().normal(size=4_000_000)
    host.files["s3://b/x.npy"] = npy_bytes(array)
    for row in (3_000_000, 17, 2_000_000):
        assert ask(db, "SELECT value FROM npy_rows('s3://b/x.npy') WHERE row = ?", row) == [(array[row],)]
    assert host.take() == (["info", "read", "read", "read"], {"s3://b/x.npy": 3 * BLOCK})


def test_one_tensor_of_many_is_not_read_beyond_its_end(db, host):
    model = {f"layer.{i}": np.full(500_000, i, "f4") for i in range(20)}
    host.files["s3://b/x.safetensors"] = safetensors_bytes(model)
    assert ask(db, "SELECT max FROM npy_stats('s3://b/x.safetensors', 'layer.3')") == [(3,)]
    assert host.take()[1]["s3://b/x.safetensors"] <= BLOCK + 2_000_000 + 2 * BLOCK


def test_what_is_kept_is_bounded(db, host):
    array = np.zeros(16_000_000)  # 128 MB: twice what is kept
    host.files["s3://b/x.npy"] = contents = npy_bytes(array)
    for _ in range(2):
        assert ask(db, "SELECT max FROM npy_stats('s3://b/x.npy')") == [(0,)]
        assert host.take()[1]["s3://b/x.npy"] >= len(contents) - BLOCK


def test_no_call_asks_for_more_than_sqlite_can_return(db, host):
    array = seeded_generator().normal(size=2_000_000)
    host.files["s3://b/x.npy"] = npy_bytes(array)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000)
    assert ask(db, "SELECT max FROM npy_stats('s3://b/x.npy')") == [(array.max(),)]
    assert all(sum(part[3] for part in question) <= 1_000_000 for name, question in host.asked if name == "read")


# --- URLs and patterns ------------------------------------------------------------------------------------------------


def test_braces_are_expanded_and_missing_files_dropped(db, host):
    urls = [f"https://h/{i:03}.npy?sig=a{{b}}*" for i in (1, 2, 5)]
    host.files.update({url: npy_bytes(np.arange(3)) for url in urls})
    assert ask(db, "SELECT path FROM npy_meta('https://h/{000..009}.npy?sig=a{b}*')") == [(url,) for url in urls]
    assert host.take()[0][0] == "info"  # nothing is listed


@pytest.mark.parametrize("url", ["http://[::1]:8080/x.npy", "https://h/x.npy?a=*&b=[1]", "s3://b/a[b.npy", "hf://datasets/u/d@main/x.npy"])
def test_what_is_no_pattern(db, host, url):
    host.files[url] = npy_bytes(np.arange(3))
    assert ask(db, "SELECT path, value FROM npy_rows(?)", url) == [(url, 0), (url, 1), (url, 2)]
    assert host.take()[0] == ["info", "read"]


def test_a_list_of_files_here_and_elsewhere(db, host, folder):
    np.save("here.npy", np.arange(2))
    host.files["s3://b/x.npy"] = npy_bytes(np.arange(3))
    sources = json.dumps(["s3://b/x.npy", "here.npy", "s3://b/nope.npy", "s3://b/*.npy"])
    found = ask(db, "SELECT path, shape, error FROM npy_meta(?)", sources)
    assert [row[:2] for row in found] == [("s3://b/x.npy", "[3]"), ("here.npy", "[2]"), ("s3://b/nope.npy", None), ("s3://b/x.npy", "[3]")]
    assert found[2][2] == "npyext: s3://b/nope.npy: no such file"


def test_a_file_elsewhere_has_no_times(db, host):
    host.files["s3://b/x.npy"] = npy_bytes(np.arange(3))
    assert ask(db, "SELECT file_size, mtime FROM npy_meta('s3://b/x.npy')") == [(len(host.files["s3://b/x.npy"]), None)]
    assert ask(db, "SELECT path, file_size, mtime FROM npy_paths('s3://b/*')") == [("s3://b/x.npy", len(host.files["s3://b/x.npy"]), None)]


def test_raw_items_lazy_arrays_and_tables(db, host, folder):
    array = np.arange(20.0).reshape(4, 5)
    host.files.update({"s3://b/x.npy": npy_bytes(array), "s3://b/y.npy": npy_bytes(array[:2]), "s3://b/x.bin": array.tobytes()})
    raw = json.dumps({"path": "s3://b/x.bin", "dtype": "<f8", "shape": [-1, 5]})
    assert ask(db, "SELECT sum(value) FROM npy_elements(?)", raw) == [(array.sum(),)]
    assert ask(db, "SELECT count(*) FROM npy_rows(npy_concat('s3://b/*.npy'))") == [(6,)]
    assert ask(db, "SELECT npy_mean(npy_calc('a * 2', array)) FROM npy_file('s3://b/x.npy')") == [(array.mean() * 2,)]
    db.execute("CREATE VIRTUAL TABLE temp.t USING npy('s3://b/x.npy')")
    assert ask(db, "SELECT * FROM t") == [tuple(row) for row in array]


@pytest.mark.parametrize("sql", [
    "SELECT * FROM npy_write('s3://b/x.npy', npy_from_json('[1]', 'f4'))",
    "CREATE VIRTUAL TABLE temp.w USING npy('s3://b/w.npy', mode='w+', dtype='f4'); INSERT INTO temp.w VALUES (1)",
])  # fmt: skip
def test_a_url_is_not_written_to(db, host, sql):
    with pytest.raises(sqlite3.OperationalError, match="a URL cannot be written to"):
        for statement in sql.split(";"):
            db.execute(statement).fetchall()
    assert host.asked == []


# --- changes ----------------------------------------------------------------------------------------------------------


def test_a_file_that_changes_is_never_mixed(db, host):
    host.files["s3://b/x.npy"] = npy_bytes(np.arange(300_000))
    rows = db.execute("SELECT value FROM npy_rows('s3://b/x.npy')")
    assert rows.fetchone() == (0,)
    host.files["s3://b/x.npy"] = npy_bytes(np.arange(300_000)[::-1].copy())
    with pytest.raises(sqlite3.OperationalError, match="s3://b/x.npy: the file changed while it was read"):
        rows.fetchall()
    assert ask(db, "SELECT value FROM npy_rows('s3://b/x.npy') LIMIT 1") == [(299_999,)]


def test_a_listing_tells_of_another_version(db, host):
    for n in (3, 5):
        host.files["s3://b/x.npy"] = npy_bytes(np.arange(n))
        assert ask(db, "SELECT shape FROM npy_meta('s3://b/*.npy')") == [(f"[{n}]",)]
        assert ask(db, "SELECT count(*) FROM npy_rows('s3://b/x.npy')") == [(n,)]


# --- wrong answers ----------------------------------------------------------------------------------------------------

WRONG = {
    "raises": (lambda name, question, answer: 1 / 0, "user-defined function raised exception"),
    "a text": (lambda name, question, answer: "403 Forbidden at https://h/x?sig=secret'", r"npyext_remote_\w+: 403 Forbidden at https://h/x\?...'"),
    "NULL": (lambda name, question, answer: None, "returned NULL where a"),
    "a number": (lambda name, question, answer: 7, "npyext_remote_info: 7|returned a number where a BLOB is wanted"),
    "less": (lambda name, question, answer: answer[:-1] if name == "read" else "[]", "bytes where|fewer entries|no such file|has no files"),
    "more": (lambda name, question, answer: answer + b"x" if name == "read" else answer[:-1] + ",[1,2]]", "bytes where|more entries|is not \\[url"),
    "no JSON": (lambda name, question, answer: "[[" if name != "read" else "x", "malformed JSON|npyext_remote_read: x"),
    "an object": (lambda name, question, answer: "[{}]" if name != "read" else b"", "npyext_remote_info|bytes where|is not \\[url"),
    "a negative size": (lambda name, question, answer: '[[-5, "v"]]' if name == "info" else b"", "its size is not a number|bytes where"),
}


@pytest.mark.parametrize("wrong", ["info", "read"])
@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_answer_is_an_error_that_names_the_url(db, host, wrong, kind):
    answer, words = WRONG[kind]
    host.files["s3://b/x.npy?sig=secret"] = npy_bytes(np.arange(300))
    host.answer = lambda name, question, right: answer(name, question, right) if name == wrong else right
    error = error_of(db, "SELECT * FROM npy_rows('s3://b/x.npy?sig=secret')")
    assert error.startswith("npyext: s3://b/x.npy: ") and "secret" not in error
    assert re.search(words, error), error
    host.answer = None
    assert ask(db, "SELECT count(*) FROM npy_rows('s3://b/x.npy?sig=secret')") == [(300,)]


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.tar", "x.safetensors", "x.pt", "x.gguf"])
@pytest.mark.parametrize("size", [2**61, 2**62 - 2, 2**62, 2**63 - 1, 2**64])
def test_a_length_that_is_claimed_is_only_a_length(db, host, name, size):
    host.files[f"s3://b/{name}"] = npy_bytes(np.arange(3))
    host.answer = lambda name, question, answer: json.dumps([[size, "v"]]) if name == "info" else answer
    source = json.dumps({"path": f"s3://b/{name}", "offset": 2**63 - 1, "nbytes": 5})
    for source in (f"s3://b/{name}", source):
        assert error_of(db, "SELECT count(*) FROM npy_rows(?)", source).startswith(f"npyext: s3://b/{name}: ")


@pytest.mark.parametrize("kind", ["raises", "a text", "NULL", "more", "no JSON", "an object"])
def test_a_listing_that_fails_is_no_empty_answer(db, host, kind):
    host.files["s3://b/x.npy"] = npy_bytes(np.arange(3))
    host.answer = WRONG[kind][0]
    assert error_of(db, "SELECT * FROM npy_meta('s3://b/*.npy')").startswith("npyext: s3://b/*.npy: ")


def test_one_bad_url_does_not_end_a_survey(db, host):
    urls = [f"s3://b/{i}.npy" for i in range(9)]
    host.files.update({url: npy_bytes(np.arange(3)) for url in urls})

    def refuse(name, question, answer):
        if name == "info":
            return json.dumps(["403 Forbidden" if url == urls[4] else told for url, told in zip(question, json.loads(answer))])
        return "503 Slow Down" if any(part[0] == urls[6] for part in question) else answer

    host.answer = refuse
    found = ask(db, "SELECT path, shape, error FROM npy_meta(?)", json.dumps(urls))
    assert [path for path, shape, _ in found if shape == "[3]"] == [url for url in urls if url not in (urls[4], urls[6])]
    assert found[4][2] == "npyext: s3://b/4.npy: cannot be looked up (npyext_remote_info: 403 Forbidden)"
    assert found[6][2] == "npyext: s3://b/6.npy: npyext_remote_read: 503 Slow Down"


def test_without_the_functions_it_says_how_to_connect(connect):
    db = connect()
    for sql in ("SELECT * FROM npy_rows('https://h/x.npy?sig=1')", "SELECT * FROM npy_rows('https://h/*.npy')"):
        assert "npyext.connect(remote=True)" in error_of(db, sql)


def test_a_host_that_asks_npyext_itself_is_refused(db, host):
    host.files["s3://b/x.npy"] = npy_bytes(np.arange(3))
    said = []

    def nested(name, question, answer):
        said.append(error_of(db, "SELECT * FROM npy_rows('s3://b/y.npy')"))
        return answer

    host.answer = nested
    assert ask(db, "SELECT count(*) FROM npy_rows('s3://b/x.npy')") == [(3,)]
    assert said == ["npyext: s3://b/y.npy: the host's functions for URLs must not read a URL through npyext"] * 2


def test_an_interrupt_during_a_call_is_noticed_after_it(db, host):
    host.files["s3://b/x.npy"] = npy_bytes(np.zeros(3_000_000))

    def interrupt(name, question, answer):
        if len(host.asked) > 3:
            db.interrupt()
        return answer

    host.answer = interrupt
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        ask(db, "SELECT max FROM npy_stats('s3://b/x.npy')")
    assert len(host.asked) == 4


# --- policy -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["NPYEXT_ROOT", "NPYEXT_VIEWS"])
def test_a_root_or_views_need_a_word_more(connect, host, monkeypatch, tmp_path, variable):
    host.files["s3://b/x.npy"] = npy_bytes(np.arange(3))
    monkeypatch.setenv(variable, str(tmp_path) if variable == "NPYEXT_ROOT" else "1")
    db = host.bind(connect())
    error = error_of(db, "SELECT * FROM npy_rows('s3://b/x.npy')")
    assert error == f"npyext: s3://b/x.npy: a URL is not read, since {variable} is set; NPYEXT_REMOTE=1 allows both"
    assert host.asked == []
    monkeypatch.setenv("NPYEXT_REMOTE", "1")
    assert ask(host.bind(connect()), "SELECT count(*) FROM npy_rows('s3://b/x.npy')") == [(3,)]


def test_the_entry_for_blobs_reads_no_url(connect, host, monkeypatch):
    monkeypatch.setenv("NPYEXT_REMOTE", "1")
    db = host.bind(connect(entry_point="sqlite3_npyext_blob_init"))
    assert "names a file" in error_of(db, "SELECT * FROM npy_rows('s3://b/x.npy')")
    assert host.asked == []


def test_a_database_makes_nobody_ask(connect, host, tmp_path):
    """A table of a URL is made in TEMP alone, and one that a database brings along is refused."""
    host.files["s3://b/x.npy"] = npy_bytes(np.arange(3))
    np.save(tmp_path / "x.npy", np.arange(3))
    db = host.bind(connect(str(tmp_path / "a.db")))
    assert "must be a TEMP table" in error_of(db, "CREATE VIRTUAL TABLE t USING npy('s3://b/x.npy')")
    db.execute(f"CREATE VIRTUAL TABLE t USING npy('{tmp_path}/x.npy')")
    (shadow,) = ask(db, "SELECT name FROM sqlite_schema WHERE name LIKE 't!_%' ESCAPE '!'")[0]
    columns = [row[1] for row in ask(db, f"PRAGMA table_info({shadow})")]
    for column in columns:
        db.execute(f"UPDATE {shadow} SET {column} = replace({column}, ?, 's3://b/x.npy') WHERE typeof({column}) = 'text'", (f"{tmp_path}/x.npy",))
    assert "s3://" in str(ask(db, f"SELECT * FROM {shadow}"))
    db.execute("CREATE VIEW v AS SELECT * FROM npy_rows('s3://b/x.npy')")
    db.close()
    host.asked.clear()
    db = host.bind(connect(str(tmp_path / "a.db")))
    assert "must be a TEMP table" in error_of(db, "SELECT * FROM t")
    with pytest.raises(sqlite3.OperationalError, match="unsafe use"):
        db.execute("SELECT * FROM v")
    assert host.asked == []


# --- at random --------------------------------------------------------------------------------------------------------

QUESTIONS = [
    "SELECT name, dtype, shape FROM npy_meta({})",
    "SELECT name, count, nulls, min, max, sum FROM npy_stats({})",
    "SELECT name, row, value FROM npy_rows({}) LIMIT {limit}",
    "SELECT name, row, value FROM npy_rows({}) WHERE row = {row}",
    "SELECT name, idx, value FROM npy_elements({}) WHERE idx BETWEEN {row} AND {row} + 5",
    "SELECT name, count(*), total(length(data)) FROM npy_rows({}) GROUP BY name",
]


# In the small build a block has 64 bytes, and is all that one call asks for.
NELEM = [0, 3, 100, 400] if shell.FLAVOUR == "small" else [0, 3, 1000, 9000, 40000]


def random_file(rng, numbers):
    arrays = {f"a{i}": numbers.normal(size=rng.choice(NELEM)).astype(rng.choice(["f4", "f8"])) for i in range(rng.randint(1, 5))}
    kind = rng.choice(["npy", "npz", "zip", "safetensors", "tar"])
    if kind == "npy":
        return "x.npy", npy_bytes(arrays["a0"].reshape(-1, rng.choice([1, 1, 3])) if len(arrays["a0"]) % 3 == 0 else arrays["a0"])
    if kind == "safetensors":
        return "x.safetensors", safetensors_bytes(arrays)
    if kind == "tar":
        return "x.tar", tar(*(member(f"{name}.npy", npy_bytes(array)) for name, array in arrays.items()))
    return "x.npz", npz_bytes(arrays, np.savez if kind == "npz" else np.savez_compressed)


def answer_of(db, sql):
    try:
        return ask(db, sql)
    except sqlite3.OperationalError as error:
        return str(error)


def broken(rng, name, question, answer):
    """What a server, a network or a careless host makes of an answer."""
    kind = rng.randrange(8)
    if kind == 0:
        raise OSError("connection reset")
    if kind == 1:
        return "503 Service Unavailable"
    if kind == 2:
        return None
    if kind == 3:
        return "changed"
    if kind == 4:
        return rng.randrange(1000)
    if name == "read":
        return answer[: rng.randrange(len(answer))] if kind == 5 else answer + bytes(rng.randrange(1, 100)) if kind == 6 else b""
    return ["[]", "[null]", "[[]]"][kind - 5]


def test_random_questions_under_random_faults_have_no_wrong_row(connect, folder):
    """10,000 by NPYEXT_REMOTE_ROUNDS=2500. An answer is that of the file on disk, or an error that names the URL."""
    seed = shell.random_seed()
    print("seed", seed)
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    nfailed = 0
    here = connect()
    nrounds = int(os.environ.get("NPYEXT_REMOTE_ROUNDS") or shell.fewer(60))
    for i in range(20 * nrounds):
        if i >= nrounds and nfailed > 0:  # with some seeds, 20 rounds have no fault that is noticed
            break
        host, db = remote.Host(), shell.connect()
        host.bind(db)
        name, contents = random_file(rng, numbers)
        with open(name, "wb") as file:
            file.write(contents)
        url = f"s3://b/{name}"
        host.files[url] = contents
        likely = rng.choice([0, 0.05, 0.3])
        host.answer = lambda name, question, answer: broken(rng, name, question, answer) if rng.random() < likely else answer
        for _ in range(4):
            sql = rng.choice(QUESTIONS).replace("{limit}", str(rng.choice([1, 7, 100000]))).replace("{row}", str(rng.randrange(NELEM[-2] * 2)))
            wanted, found = answer_of(here, sql.replace("{}", f"'{name}'")), answer_of(db, sql.replace("{}", f"'{url}'"))
            if isinstance(found, str) and not isinstance(wanted, str):
                assert likely and "s3://b/" in found, (sql, found)
                nfailed += 1
            elif isinstance(found, list) and found != wanted:
                # npy_meta tells of a fault in a row of its own
                assert likely and "npy_meta" in sql and not set(found) - set(wanted) - {(None, None, None)}, (sql, found, wanted)
                nfailed += 1
            elif isinstance(wanted, str):
                assert found == wanted.replace(name, url, 1) if not likely else isinstance(found, str)
        db.close()
        os.remove(name)
    assert nfailed > 0
