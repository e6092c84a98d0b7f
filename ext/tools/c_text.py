"""C as text: its words, what declarations name, and names replaced. For amalgamate.py, and only as much of C as
that needs: what it misses does not compile."""

import re

TOKEN = re.compile(
    r"""(?P<space>\s+|\\\n|//[^\n]*|/\*.*?\*/)
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<name>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<mark>->|\.\.\.|\#\#|.)""",
    re.X | re.S,
)
OPEN, CLOSE = "([{", ")]}"
TAGGED = ("struct", "union", "enum")
QUALIFIERS = {"const", "volatile", "restrict", "__restrict", "__extension__"}
# These declare nothing; each is followed by a parenthesis of no interest.
ATTRIBUTES = {"__attribute__", "__attribute", "__asm__", "asm", "_Alignas", "__declspec"}


def tokens_of(text):
    return [(match.lastgroup, match[0]) for match in TOKEN.finditer(text)]


def words_of(text):
    return [token for kind, token in tokens_of(text) if kind != "space"]


def is_name(token):
    return re.match(r"[A-Za-z_]", token) is not None


def group_end(words, at):
    """The index behind the bracket that closes the one at an index."""
    depth = 0
    for i in range(at, len(words)):
        depth += words[i] in OPEN
        depth -= words[i] in CLOSE
        if depth == 0:
            return i + 1
    return len(words)


def declarations(words):
    """The file-scope declarations in a list of words, bodies of functions left out."""
    i, start = 0, 0
    while i < len(words):
        word = words[i]
        if word == ";":
            yield words[start:i]
            i = start = i + 1
        elif word == "{":
            end = group_end(words, i)
            if "=" not in words[start:i] and not opens_members(words, start, i):
                yield words[start:i]
                start = end
            i = end
        elif word in "([":
            i = group_end(words, i)
        elif word in ("static", "typedef", "extern") and i > start and words[i - 1] == ")":
            # Behind a macro that makes functions and needs no semicolon.
            yield words[start:i]
            start, i = i, i + 1
        else:
            i += 1


def behind_tag(words, at):
    """(the tag or None, the index behind it) where `struct`, `union` or `enum` stands before an index."""
    tag = None
    while at < len(words) and (words[at] in ATTRIBUTES or (tag is None and is_name(words[at]))):
        if words[at] in ATTRIBUTES:
            at = group_end(words, at + 1)
        else:
            tag, at = words[at], at + 1
    return tag, at


def opens_members(words, start, brace):
    """Whether a brace opens what a struct, union or enum has, and not the body of a function."""
    return any(words[i] in TAGGED and behind_tag(words, i + 1)[1] == brace for i in range(start, brace))


def tags_and_constants(words):
    for i, word in enumerate(words[:-1]):
        if word not in TAGGED:
            continue
        tag, at = behind_tag(words, i + 1)
        if tag and at < len(words) and words[at] == "{":
            yield tag
        if word == "enum" and at < len(words) and words[at] == "{":
            inside = words[at + 1 : group_end(words, at) - 1]
            expected = True
            for j, name in enumerate(inside):
                if expected and is_name(name):
                    yield name
                    expected = False
                expected = expected or (name == "," and "(" not in bracket_path(inside[:j]))


def bracket_path(words):
    path = []
    for word in words:
        if word in OPEN:
            path.append(word)
        elif word in CLOSE:
            path.pop()
    return path


def declared_names(declaration):
    """The functions, variables and types that a declaration names."""
    i, name, found, done = 0, None, [], False
    while i < len(declaration):
        word = declaration[i]
        if word in ATTRIBUTES or word == "_Static_assert":
            i = group_end(declaration, i + 1) if i + 1 < len(declaration) else i + 1
            continue
        if word in TAGGED:
            i = behind_tag(declaration, i + 1)[1]
            continue
        if word == ",":
            found.append(name)
            name, done = None, False
        elif word == "=":
            done = True
        elif word == "(" and not done:
            inner = declaration[i + 1 : group_end(declaration, i) - 1]
            if inner[:1] == ["*"]:
                name = next((w for w in inner if is_name(w) and w not in QUALIFIERS), name)
            done = name is not None
        elif is_name(word) and not done:
            name = word
        i = group_end(declaration, i) if word in OPEN else i + 1
    return [name for name in [*found, name] if name and name not in QUALIFIERS]


def names_of(words):
    """(the file's own names, the names that are linked) at file scope."""
    own, linked = set(), set()
    for declaration in declarations(words):
        own.update(tags_and_constants(declaration))
        kept = "static" in declaration or "typedef" in declaration
        (own if kept else linked).update(declared_names(declaration))
    return own, linked - own


class Member:
    """Tells which words of a text are names of members, by the words before: members keep their names."""

    def __init__(self):
        self.stack = []  # of open brackets: "members" for those of a struct, and the word before the bracket
        self.words = ["", ""]
        self.struct_depth = None  # of brackets, where a struct or union has been named whose members may follow

    def is_next(self, word, following):
        last, second = self.words[-1], self.words[-2]
        if last in (".", "->"):
            return True
        if self.stack and self.stack[-1] == ("(", "offsetof") and last == ",":
            return True
        if self.stack and self.stack[-1][0] == "members":
            return following in (";", ",", "[", ":") and last not in TAGGED
        in_members = len(self.stack) > 1 and self.stack[-2][0] == "members"
        return in_members and last == "*" and second == "(" and following == ")"

    def advance(self, word):
        depth, last = len(self.stack), self.words[-1]
        if word in ("struct", "union"):
            self.struct_depth = depth
        elif self.struct_depth == depth and (word in "*=,;)" or (word == "(" and last not in ATTRIBUTES)):
            self.struct_depth = None
        if word in OPEN:
            is_struct = word == "{" and self.struct_depth == depth
            self.stack.append(("members" if is_struct else word, last))
            self.struct_depth = None if word == "{" else self.struct_depth
        elif word in CLOSE and self.stack:
            self.stack.pop()
        self.words = [last, word]


def renamed(text, names):
    """The text with the names replaced, members, texts and comments left alone."""
    tokens, member, out = tokens_of(text), Member(), []
    significant = [token for kind, token in tokens if kind != "space"] + [""]
    at = 0
    for kind, token in tokens:
        if kind == "space":
            out.append(token)
            continue
        at += 1
        if token in names and not member.is_next(token, significant[at]):
            out.append(names[token])
        else:
            out.append(token)
        member.advance(token)
    return "".join(out)
