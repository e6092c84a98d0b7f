"""What a source and its `member` mean: paths, patterns, lists, BLOBs, NULL, nothing; names and idx."""

import os

import numpy as np
import pytest

from arrays import npy_bytes, npz_bytes, ten_bytes, zip_bytes
from expected import error_of

FUNCTIONS = ["npy_meta", "npz_members", "ten_arrays", "npy_rows"]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A folder of small files, entered; each array holds the number of characters in its path."""
    monkeypatch.chdir(tmp_path)

    def add(*paths):
        for path in paths:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "wb") as out:
                out.write(npy_bytes(np.array([len(path)])))

    add(
        "a.npy",
        "b.npy",
        "B.npy",
        "c1.npy",
        "c2.npz",
        "runs/1/a.npy",
        "runs/2/a.npy",
        "runs/2/deep/er/a.npy",
        "runs/10/a.npy",
        ".hidden.npy",
        "runs/.dot/a.npy",
        "runs/top.npy",
        "shard-000008.npy",
        "shard-000009.npy",
        "shard-000010.npy",
        "shard-9.npy",
        "\u00e9.npy",
        "[x].npy",
        "q*.npy",
        "q1.npy",
        "{a,b}.npy",
        "elsewhere/linked/a.npy",
    )
    os.symlink("../elsewhere", "runs/link")
    os.symlink("../a.npy", "runs/file-link.npy")
    os.makedirs("folder.npy")
    return add


def paths_of(db, source):
    return [path for (path,) in db.execute("SELECT path FROM npy_meta(?)", (source,))]


@pytest.mark.parametrize(
    "pattern, matches",
    [
        ("?.npy", ["B.npy", "a.npy", "b.npy", "\u00e9.npy"]),
        ("[a-b].npy", ["a.npy", "b.npy"]),
        ("[!a-b].npy", ["B.npy", "\u00e9.npy"]),
        ("c*.np[yz]", ["c1.npy", "c2.npz"]),
        ("*/*/a.npy", ["elsewhere/linked/a.npy", "runs/1/a.npy", "runs/10/a.npy", "runs/2/a.npy"]),
        ("runs/**/a.npy", ["runs/1/a.npy", "runs/10/a.npy", "runs/2/a.npy", "runs/2/deep/er/a.npy"]),
        ("runs/**/er/*.npy", ["runs/2/deep/er/a.npy"]),
        ("runs/link/*/a.npy", ["runs/link/linked/a.npy"]),
        ("runs/f*.npy", ["runs/file-link.npy"]),
        ("**/top.npy", ["runs/top.npy"]),
        (
            "**/a.npy",
            [
                "a.npy",
                "elsewhere/linked/a.npy",
                "runs/1/a.npy",
                "runs/10/a.npy",
                "runs/2/a.npy",
                "runs/2/deep/er/a.npy",
            ],
        ),
        (".h*.npy", [".hidden.npy"]),
        ("runs/.*/a.npy", ["runs/.dot/a.npy"]),
        ("{b,a,nothing}.npy", ["a.npy", "b.npy"]),
        ("shard-{000008..000010}.npy", ["shard-000008.npy", "shard-000009.npy", "shard-000010.npy"]),
        ("shard-{8..9}.npy", ["shard-9.npy"]),
        ("{runs/{1,2},elsewhere/*}/a.npy", ["elsewhere/linked/a.npy", "runs/1/a.npy", "runs/2/a.npy"]),
        ("[[]x].npy", ["[x].npy"]),
        ("no*such", []),
        ("no/such/**/*.npy", []),
        ("folder.*", []),
        # A path that exists as written is no pattern.
        ("[x].npy", ["[x].npy"]),
        ("q*.npy", ["q*.npy"]),
        ("{a,b}.npy", ["{a,b}.npy"]),
    ],
)
def test_patterns(connect, tree, pattern, matches):
    db = connect()
    assert paths_of(db, pattern) == matches
    assert [v for (v,) in db.execute("SELECT value FROM npy_rows(?)", (pattern,))] == [
        5 if path == "runs/file-link.npy" else len(path.replace("runs/link/", "elsewhere/")) for path in matches
    ]
    absolute = os.path.join(os.getcwd(), pattern)
    assert paths_of(db, absolute) == [os.path.join(os.getcwd(), path) for path in matches]


@pytest.mark.parametrize("beginning", ["~", "~me", "$HOME", "${HOME}"])
def test_what_a_shell_would_put_in_is_told_where_nothing_matches(connect, tree, beginning):
    """A pattern with `~` gave no rows, and no word."""
    db = connect()
    for source in (f"{beginning}/**", f"{beginning}/a.npy", f'["a.npy", "{beginning}/*.npy"]'):
        assert "not expanded: write the folder itself" in error_of(db, "SELECT path FROM npy_meta(?, 'raise')", source), source
    tree(f"{beginning}/a.npy")
    assert paths_of(db, f"{beginning}/*") == [f"{beginning}/a.npy"]
    assert paths_of(db, "$[1]*") == []


def test_matches_are_sorted_by_bytes(connect, tree):
    names = ["z.npy", "Z.npy", "\u00e9.npy", "\U0001f600.npy", "\uff00.npy", "a-b/x.npy", "a/x.npy", "a.b/x.npy"]
    tree(*(f"sorted/{name}" for name in names))
    got = paths_of(connect(), "sorted/**/*.npy")
    assert got == sorted((f"sorted/{name}" for name in names), key=str.encode)


def test_lists_are_kept_in_order(connect, tree):
    db = connect()
    assert paths_of(db, '["runs/1/a.npy", "a.npy", "runs/1/a.npy"]') == ["runs/1/a.npy", "a.npy", "runs/1/a.npy"]
    assert paths_of(db, ' ["\\u00e9.npy", "[bB].npy", "no*match", "a.npy"] ') == [
        "\u00e9.npy",
        "B.npy",
        "b.npy",
        "a.npy",
    ]
    assert paths_of(db, "[]") == []
    # Only an array of strings is a list; these are patterns that match one character.
    tree("1", "x/2")
    assert paths_of(db, "[1]") == ["1"]
    assert paths_of(db, 'x/["2"]') == ["x/2"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_null_in_any_argument_gives_no_rows(connect, tmp_path, function):
    db, path = connect(), tmp_path / "a.npy"
    path.write_bytes(npy_bytes(np.arange(3)))
    hidden = db.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden", (function,)).fetchall()
    names = [name for (name,) in hidden]
    for nulled in names[: names.index("on_error") + 1]:
        given = {"source": str(path), nulled: None}
        where = " AND ".join(f"{name} = :{name}" for name in given)
        assert db.execute(f"SELECT * FROM {function} WHERE {where}", given).fetchall() == [], nulled
    assert db.execute(f"SELECT * FROM {function}(NULL)").fetchall() == []
    # Even when what else is given is an error.
    assert db.execute(f"SELECT * FROM {function}('/no/such/file') WHERE on_error = NULL").fetchall() == []


def test_an_empty_text_is_not_given(connect):
    db, contents = connect(), npz_bytes({"a": np.arange(2), "b": np.arange(3)})
    want = db.execute("SELECT * FROM npy_rows(?)", (contents,)).fetchall()
    assert (
        db.execute("SELECT * FROM npy_rows(?, '', '', '', '', '', '', '')", (contents,)).fetchall() == want
        and len(want) == 5
    )
    assert db.execute("SELECT count(*) FROM npy_meta(?, '')", (contents,)).fetchone() == (2,)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_missing_source_is_an_error_when_run(connect, function):
    db = connect()
    for sql in (
        f"SELECT * FROM {function}",
        f"SELECT * FROM {function}('')",
        f"SELECT count(*) FROM {function} WHERE on_error = 'row'",
    ):
        assert "source" in error_of(db, sql)
    # Preparing it is none: nothing is read before the first step.
    assert db.execute(f"EXPLAIN SELECT * FROM {function}").fetchall()
    assert db.execute(f"SELECT 1 WHERE 0 AND EXISTS (SELECT 1 FROM {function})").fetchall() == []


def test_numbers_are_no_sources(connect):
    db = connect()
    for number in (1, 1.5):
        assert "source" in error_of(db, "SELECT * FROM npy_rows(?)", number)


def test_members(connect, tree):
    db = connect()
    archive = zip_bytes(
        [
            ("readme", b"x"),
            ("w.npy", npy_bytes(np.array([1]))),
            ("dup.npy", npy_bytes(np.array([2]))),
            ("dup.npy", npy_bytes(np.array([3]))),
            ("w", npy_bytes(np.array([4]))),
            ("1.npy", npy_bytes(np.array([5]))),
        ]
    )
    ten = ten_bytes([np.array([1]), np.array([2]), np.array([3])], infos=["x", "y", "x"])
    for contents, members in (
        (
            archive,
            [("dup", 3), (2, 2), (3, 3), (1, 1), ("w.npy", 1), ("w", 4), ("1", 5), (1.0, 1), (5, 5), ("dup.npy", 3)],
        ),
        (ten, [("y", 2), (0, 1), (2, 3), (2.0, 3)]),
    ):
        with open("members", "wb") as out:
            out.write(contents)
        for source in ("members", contents):
            for member, value in members:
                sql = "SELECT value FROM npy_rows(?, ?)"
                assert db.execute(sql, (source, member)).fetchall() == [(value,)], member
    for member in ("unknown", 0, 6, -1, 99, 1.5, "2.5", b"w"):
        text = error_of(db, "SELECT * FROM npy_rows(?, ?)", archive, member)
        if isinstance(member, str):
            assert member in text and "w" in text and "dup" in text
    text = error_of(db, "SELECT * FROM npy_rows(?, 'x')", ten)
    assert "idx" in text
    # A plain array has the name '' and the idx 0.
    plain = npy_bytes(np.array([9]))
    assert db.execute("SELECT value FROM npy_rows(?, 0)", (plain,)).fetchall() == [(9,)]
    assert "other" in error_of(db, "SELECT * FROM npy_rows(?, 'other')", plain)
    assert error_of(db, "SELECT * FROM npy_rows(?, 1)", plain)


def test_a_pattern_skips_files_without_the_member(connect, tree):
    db = connect()
    for i, members in enumerate(
        [{"a": np.array([1])}, {"b": np.array([2])}, {"a": np.array([3]), "b": np.array([4])}]
    ):
        with open(f"p{i}.npz", "wb") as out:
            out.write(npz_bytes(members))
    assert db.execute("SELECT path, value FROM npy_rows('p?.npz', 'a')").fetchall() == [("p0.npz", 1), ("p2.npz", 3)]
    assert db.execute("SELECT path, value FROM npy_rows('p{0,1,2}.npz', 1)").fetchall() == [("p2.npz", 4)]
    assert db.execute("SELECT value FROM npy_rows('p?.npz', 'nowhere')").fetchall() == []
    assert "nowhere" in error_of(db, "SELECT value FROM npy_rows('p0.npz', 'nowhere')")


def test_filters_on_path_and_name(connect, tree):
    db = connect()
    with open("n.npz", "wb") as out:
        out.write(npz_bytes({"a": np.array([1]), "A": np.array([2])}))
    assert db.execute("SELECT value FROM npy_rows('n.npz') WHERE name = 'A'").fetchall() == [(2,)]
    assert db.execute(
        "SELECT value FROM npy_rows('n.npz') WHERE name = 'a' COLLATE NOCASE ORDER BY 1"
    ).fetchall() == [(1,), (2,)]
    assert db.execute("SELECT value FROM npy_rows('n.npz') WHERE name = 'no such'").fetchall() == []
    found = db.execute("SELECT shape FROM npy_meta('runs/**/a.npy') WHERE path = 'runs/2/a.npy'").fetchall()
    assert found == [("[1]",)]
    assert db.execute("SELECT count(*) FROM npy_meta('?.npy') WHERE path = 'b.NPY' COLLATE NOCASE").fetchone() == (2,)
