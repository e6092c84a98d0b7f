"""SQL taken apart: statements of a text, and the parameters of a statement."""

import re

import apsw

_TOKEN = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)|'[^']*'?|\"[^\"]*\"?|`[^`]*`?|\[[^\]]*\]?|\?\d*|[:@#$][\w$]+(?:::[\w$]+)*|;|\w+|.", re.S)
_COMMENT = ("--", "/*")


def split(text):
    """[(where it begins, statement)]: those that hold more than comments."""
    found, begin, is_empty = [], None, True
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word.isspace():
            continue
        begin = token.start() if begin is None else begin
        if word == ";":
            if is_empty:
                begin = None
            elif apsw.complete(text[begin : token.end()]):
                found.append((begin, text[begin : token.end()]))
                begin, is_empty = None, True
        elif not word.startswith(_COMMENT):
            is_empty = False
    if not is_empty:
        found.append((begin, text[begin:]))
    return found


def is_blank(text):
    """Whether there is nothing but comments, all of which end."""
    for token in _TOKEN.finditer(text):
        word = token[0]
        if not word.isspace() and not word.startswith("--") and not (word.startswith("/*") and word.endswith("*/") and len(word) > 3):
            return False
    return True


def parameters(statement):
    """The names of a statement's parameters by their numbers, as SQLite counts them: `?3` leaves two before it unnamed."""
    names = []
    for token in _TOKEN.finditer(statement):
        word = token[0]
        if word[0] == "?":
            number = int(word[1:]) if word[1:] else len(names) + 1
            if not 0 < number <= 32766:  # SQLite says what is wrong
                continue
            names += [None] * (number - len(names))
            names[number - 1] = f"?{number}"
        elif word[0] in ":@#$" and len(word) > 1 and word not in names:
            names.append(word)
    return names


def kind(statement):
    """`explain`, `plan` or None."""
    words = [token[0].lower() for token in _TOKEN.finditer(statement) if not token[0].isspace() and not token[0].startswith(_COMMENT)][:3]
    if words[:1] != ["explain"]:
        return None
    return "plan" if words[1:] == ["query", "plan"] else "explain"
