"""Random queries for tests/queries/differential.py, each spelled twice: over npyext's tables, and over ordinary ones.

A query is written once. What differs are its tables, which are marked by numbers between NULs; what may be left out
of it to make it shorter stands between \\1 and \\2.
"""

import copy
import random
import re

# Whose answers can be told apart:
IN_ORDER = "in order"  # every row in its place
AS_A_BAG = "as a bag"  # the rows, in any order
WITHIN = "within"  # so many of the rows that there are without LIMIT, which are the query's `whole`

COMPARISONS = ["=", "=", "=", "==", "<>", "!=", "<", "<=", ">", ">=", ">", "<", "IS", "IS NOT"]
ORDERED = ["<", "<=", ">", ">="]
PATTERNS = ["'%1%'", "'a%'", "'A%'", "'%c'", "'1%'", "'p_.npy'", "'*1*'", "'[0-9]*'", "'a*'", "''", "1"]
PAIRED = ["row", "idx", "name", "path", "value", "i0", "id"]
COLLATION = re.compile(" COLLATE (NOCASE|RTRIM|BINARY)")
SOUGHT = {"row", "idx", "i0", "i1", "i2", "i3", "rowid"}
TYPES = ["INTEGER", "REAL", "TEXT", "NUMERIC", "BLOB"]
JOINS = [" JOIN ", " JOIN ", " LEFT JOIN ", " LEFT JOIN ", " LEFT JOIN ", " CROSS JOIN ", ", "]
OUTER = [" RIGHT JOIN ", " FULL JOIN "]
WINDOWS = ["row_number()", "rank()", "dense_rank()", "ntile(2)", "count(*)", "lag({})", "lead({}, 2)", "first_value({})", "last_value({})", "nth_value({}, 2)", "count({})"]
FRAMES = ["", "", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " ROWS UNBOUNDED PRECEDING", " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"]


class Query:
    """text: with its marks. is_strict: types and signs of zeros count; where values that are equal stand for one
    another (DISTINCT, GROUP BY, UNION, min) it is open which of 1, 1.0, 0.0 and -0.0 does. is_coerced: a text may
    have been compared as a number."""

    is_coerced = False

    def __init__(self, text, pairs, parameters, how=AS_A_BAG, is_strict=True, norder=0, whole=None):
        self.text, self.pairs, self.parameters = text, pairs, parameters
        self.how, self.is_strict, self.norder, self.whole = how, is_strict, norder, whole

    def spelled(self, side, text=None):
        """0: over npyext's tables; 1: over ordinary ones."""
        pieces = (self.text if text is None else text).split("\0")
        for i in range(1, len(pieces), 2):
            pieces[i] = self.pairs[int(pieces[i])][side]
        return "".join(pieces).replace("\1", "").replace("\2", "")

    def again(self):
        """The same statement with its parameters dealt out anew."""
        names = [name for name in self.parameters if name.startswith("p")]
        if len(names) > 1 and self.how != WITHIN:
            values = [self.parameters[name] for name in names]
            self.parameters = self.parameters | dict(zip(names, values[1:] + values[:1]))

    def shorter(self):
        """The query without each of the parts that can be left out, longest first."""
        opened, parts = [], []
        for i, character in enumerate(self.text):
            if character == "\1":
                opened.append(i)
            elif character == "\2":
                parts.append((opened.pop(), i + 1))
        for start, end in sorted(parts, key=lambda part: part[0] - part[1]):
            shorter = copy.copy(self)
            shorter.text, shorter.whole = self.text[:start] + self.text[end:], None
            yield shorter


class Scope:
    """What a FROM clause has: (alias, table) each; conditions that it adds to WHERE; whether rows come in a known
    order."""

    def __init__(self, text, items, is_in_order=False, conditions=(), is_turned=False):
        self.text, self.items, self.is_in_order, self.conditions = text, items, is_in_order, list(conditions)
        # The left table of an outer join cannot read its source from WHERE, nor from a table to its right.
        self.may_be_outer = not conditions and not is_turned
        self.nrows = 1
        for _, table in items:
            self.nrows *= table.nrows + 1
        self.keys = [f"{alias}.{column}" for alias, table in items for column in table.key]
        self.smalls = [f"{alias}.{column.name}" for alias, table in items for column in table.columns if column.is_small]


class Writer:
    """Queries over the tables of a World for a version of SQLite."""

    def __init__(self, world, version):
        self.version = version
        self.comparisons = COMPARISONS + ["IS NOT DISTINCT FROM", "IS DISTINCT FROM"] if version >= (3, 39) else COMPARISONS
        self.tables = [table for table in world.tables if not table.is_long]
        self.typed = [table for table in self.tables if not table.arguments]
        self.bracketed = [table for table in self.tables if not table.arguments or table.is_bracketed]
        self.long = [table for table in world.tables if table.is_long]
        self.ordinary, self.files, self.correlated = world.ordinary, world.file_table, world.correlated
        self.shapes = [self.single] * 8 + [self.window_of_one] * 4 + [self.joined] * 7 + [self.looked_up] * 3 + [self.aggregated] * 3
        self.shapes += [self.distinct, self.compound, self.compound, self.windowed, self.derived, self.derived, self.scalar]

    def query(self, seed):
        self.rng = random.Random(seed)
        self.random = self.rng.random
        self.pairs, self.parameters, self.naliases = [], {}, 0
        self.is_listed = self.is_coerced = self.is_on = self.has_outer = self.has_seek_list = False
        query = self.one(self.shapes)()
        query.is_coerced = self.is_coerced
        return query

    def on_predicate(self, items, depth):
        """One that is not known to be false."""
        was_on, self.is_on = self.is_on, True
        text = self.predicate(items, depth)
        self.is_on = was_on
        return text

    # --- choices

    def one(self, choices):
        return choices[int(self.random() * len(choices))]

    def several(self, choices, most=3):
        return [self.one(choices) for _ in range(1 + int(self.random() * most))]

    def pair(self, ours, plain):
        self.pairs.append((ours, plain))
        return f"\0{len(self.pairs) - 1}\0"

    def made(self, text, **more):
        return Query(text, self.pairs, self.parameters, **more)

    def bound(self, value, text, prefix="p"):
        """A value as a literal, or as a parameter."""
        if self.random() < 0.75:
            return text
        name = f"{prefix}{len(self.parameters)}"
        self.parameters[name] = value
        return f":{name}"

    def constant(self, column):
        # of paths there must be no others than those of files, also when parameters are dealt out anew
        prefix = "f" if column.pool is column.own else "p"
        return self.bound(*self.one(column.own if self.random() < 0.5 else column.pool), prefix)

    # --- tables

    def alias(self):
        self.naliases += 1
        return "abcdefgh"[self.naliases - 1]

    def source(self, table, alias, may_name=True):
        """A table of FROM, and the conditions that give it its arguments when they do not stand in brackets."""
        plain = f'"{table.name}" AS {alias}'
        if table.function is None:
            return plain, []
        if not table.arguments:  # a typed table
            return self.pair(f"{table.function} AS {alias}", plain), []
        how = self.random()
        if table.is_bracketed and (how < 0.7 or not may_name):
            if how < 0.4:
                return self.pair(f"{table.function}({table.literals}) AS {alias}", plain), []
            self.parameters.update(table.parameters)
            return self.pair(f"{table.function}({table.placeholders}) AS {alias}", plain), []
        conditions = []
        for argument, value in table.arguments.items():
            name = f"{table.name}_{argument}"
            self.parameters[name] = value
            conditions.append(f"{alias}.{argument} = " + (f":{name}" if how < 0.85 or isinstance(value, bytes) else table.by_name[argument].own[0][1]))
        return self.pair(f"{table.function} AS {alias}", plain), conditions

    def scope_of_one(self, table=None):
        table, alias = table or self.one(self.tables), self.alias()
        text, conditions = self.source(table, alias)
        return Scope(text, [(alias, table)], table.is_in_order, conditions)

    def scope_of_lookups(self):
        """Arguments that come from another table."""
        (table, form), k, a = self.one(self.correlated), self.alias(), self.alias()
        files = f"files AS {k}"
        how = self.random()
        if how < 0.6:
            arguments = ", ".join(f"{k}.{column}" for column in form.values())
            ours, given = f"{table.function}({arguments}) AS {a}", ""
        else:
            ours, given = f"{table.function} AS {a}", " AND ".join(f"{a}.{argument} = {k}.{column}" for argument, column in form.items())
        plain = " AND ".join(f"{a}.{argument} = {k}.{column}" for argument, column in form.items())
        items = [(k, self.files), (a, table)]
        condition = f"\1 AND {self.on_predicate(items, 1)}\2" if self.random() < 0.5 else ""
        join = self.one([" JOIN ", " JOIN ", " LEFT JOIN ", " CROSS JOIN "])
        is_turned = join == " JOIN " and self.random() < 0.3  # an order that SQLite has to turn round
        if is_turned:
            text = f"{self.pair(ours, f'{table.name} AS {a}')} JOIN {files}"
        else:
            text = f"{files}{join}{self.pair(ours, f'{table.name} AS {a}')}"
        return Scope(f"{text} ON {self.pair(given or '1', plain)}{condition}", items, is_turned=is_turned)

    def scope_of_join(self, first=None):
        scope = first or self.scope_of_one()
        n = 2 if self.random() < 0.85 else 3
        # SQLite 3.43 goes wrong with three tables of which one is joined by RIGHT or FULL: conditions on ordinary tables and on
        # json_each are lost, and rows are.
        is_sound = not (3, 43) <= self.version < (3, 44) or (n == 2 and len(scope.items) == 1)
        can_be_outer = self.version >= (3, 39) and scope.may_be_outer and is_sound
        while len(scope.items) < n and scope.nrows < 400:
            may_be_outer = can_be_outer and not self.has_seek_list
            alias, join = self.alias(), self.one(JOINS + OUTER if may_be_outer else JOINS)
            self.has_outer |= join in OUTER
            # SQLite 3.39 to 3.41 do not hand arguments to the right table of a RIGHT JOIN.
            tables = self.typed if join in OUTER and self.version < (3, 42) else self.bracketed if can_be_outer else self.tables
            table = self.one(self.ordinary if self.random() < 0.4 else tables)
            text, conditions = self.source(table, alias, may_name=not can_be_outer)
            items = scope.items + [(alias, table)]
            shared = [name for name in PAIRED if name in table.by_name and any(name in other.by_name for _, other in scope.items)]
            if shared and not conditions and self.random() < 0.15:
                self.is_coerced = True
                scope = Scope(f"{scope.text}{join}{text} USING ({self.one(shared)})", items, conditions=scope.conditions, is_turned=not scope.may_be_outer)
                continue
            on = " AND ".join(conditions + [self.join_condition(items)])
            scope = Scope(f"{scope.text}{join}{text} ON {on}", items, conditions=scope.conditions, is_turned=not scope.may_be_outer)
        return scope

    def join_condition(self, items):
        """Of both sides, of the left one alone, of the right one alone."""
        (a, left), (b, right) = self.one(items[:-1]), items[-1]
        kind, conditions = self.random(), []
        if kind < 0.85:
            c, d = self.one(left.outputs), self.one(right.outputs)
            if kind < 0.5:
                small = [column for column in left.outputs if column.is_small], [column for column in right.outputs if column.is_small]
                c, d = (self.one(small[0]) if small[0] else c), (self.one(small[1]) if small[1] else d)
            conditions.append(self.compared(f"{a}.{c.name}", c, f"{b}.{d.name}", d, ["=", "=", "=", "<", ">=", "<>", "IS"]))
        if self.random() < 0.3:
            conditions.append(self.on_predicate([(a, left)], 0))
        if self.random() < 0.2:  # what SQLite may hand over for other operators than those of indexes
            name, column = self.column([(a, left)])
            conditions.append(self.one([f"{name} <> {self.constant(column)}", f"{name} IS NOT NULL", f"{name} IS NOT {self.constant(column)}"]))
        if self.random() < 0.3:
            conditions.append(self.on_predicate([(b, right)], 0))
        if not conditions:
            return "1"
        return conditions[0] + "".join(f"\1 AND {condition}\2" for condition in conditions[1:])

    # --- conditions

    def shown(self, items):
        """A column to select or to sort by."""
        if self.random() < 0.1:
            alias, table = self.one(items)
            return f"{alias}.{self.one(table.columns).name}"
        return self.column(items)[0]

    def column(self, items):
        """A column for a condition, by its name and as itself."""
        alias, table = items[0] if len(items) == 1 else self.one(items)
        column = self.one(table.planned if self.random() < 0.6 else table.outputs)
        return f"{alias}.{column.name}", column

    def compared(self, name, column, other_name, other, operators=None):
        self.is_coerced |= column.is_number and other.has_number_texts or other.is_number and column.has_number_texts
        return f"{name} {self.one(operators or self.comparisons)} {other_name}"

    def leaf(self, items):
        kind, (name, column) = self.random(), self.column(items)
        if kind < 0.40:
            sides = [name, self.constant(column)]
            if self.random() < 0.15:
                sides.reverse()
            return f"{sides[0]} {self.one(self.comparisons)} {sides[1]}"
        if kind < 0.48:
            return f"{name} {self.one(['', '', 'NOT '])}BETWEEN {self.constant(column)} AND {self.constant(column)}"
        if kind < 0.58 and self.may_seek_list(column):
            self.is_listed = True
            # Of `b.source = a.path AND b.row IN ()` SQLite makes `0`, and the function has no source.
            listed = ", ".join(self.constant(column) for _ in range(self.is_on + int(self.random() * 5)))
            return f"{name} {self.one(['', '', '', 'NOT '])}IN ({listed})"
        if kind < 0.64:
            return f"{name} {self.one(['IS NULL', 'IS NOT NULL', 'NOTNULL'])}"
        if kind < 0.70:
            return self.compared(name, column, *self.column(items))
        if kind < 0.76:
            return self.row_value(items)
        # SQLite 3.40 seeks a rowid for LIKE, and a FULL JOIN of ordinary tables loses rows by it.
        if kind < 0.80 and (column.name != "rowid" or self.version >= (3, 46)):
            return f"{name} {self.one(['LIKE', 'LIKE', 'GLOB', 'NOT LIKE'])} {self.one(PATTERNS)}"
        if kind < 0.84:
            return f"{name} {self.one(self.comparisons)} {self.constant(column)} COLLATE {self.one(['NOCASE', 'RTRIM', 'BINARY'])}"
        if kind < 0.90:
            form = self.one(["+{}", "CAST({} AS %s)" % self.one(TYPES), "{} + 0", "{} || ''", "coalesce({}, 1)", "typeof({})", "length({})", "-{}"])
            return f"{form.format(name)} {self.one(self.comparisons)} {self.constant(column)}"
        return self.subquery(name, column, items)

    def after(self, scope):
        """The rows after one, or before it, as people write who page through a table."""
        alias, table = scope.items[0]
        key, (other, column) = table.by_name[table.key[-1]], self.column(scope.items)
        right = f"{self.bound(*self.one(key.own))}, {self.bound(*self.one(column.own))}"
        return f"({alias}.{key.name}, {other}) {self.one(ORDERED)} ({right})"

    def row_value(self, items):
        is_list = self.random() < 0.2
        # What one virtual table has made of the list of `(x, y) IN`, another one of the join takes for its own before
        # SQLite 3.54, and a RIGHT JOIN the second time; rows are lost.
        if is_list and self.version < (3, 54):
            items = [self.one(items)]
        (a, first), (b, second) = self.column(items), self.column(items)
        if not is_list or self.has_outer:
            right = f"({self.constant(first)}, {self.constant(second)})"
            if self.random() < 0.2:
                right = f"(SELECT {right[1:-1]})"
            return f"({a}, {b}) {self.one(['=', '<>', 'IS', *ORDERED, *ORDERED])} {right}"
        self.is_listed = self.has_seek_list = True
        return f"({a}, {b}) IN (VALUES ({self.constant(first)}, {self.constant(second)}), ({self.constant(first)}, {self.constant(second)}))"

    def may_seek_list(self, column):
        """Whether IN may be about a column that is sought value by value. Up to SQLite 3.54 a RIGHT JOIN with GROUP BY writes
        over the registers of such a virtual table's arguments, and the second value is sought elsewhere."""
        if self.has_outer:
            return column.name not in SOUGHT
        self.has_seek_list |= column.name in SOUGHT
        return True

    def subquery(self, name, column_of_name, items):
        """IN, EXISTS and a scalar, with or without a look at the query around."""
        self.is_listed = True
        table, alias = self.one(self.ordinary if self.random() < 0.6 else self.tables), f"s{len(self.pairs)}"
        text, conditions = self.source(table, alias)
        self.pair("", "")
        column = self.one(table.columns)
        kind = self.random()
        if self.random() < 0.5:
            inner = self.one(table.outputs)
            conditions.append(self.compared(f"{alias}.{inner.name}", inner, *self.column(items)))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if kind < 0.45 and self.may_seek_list(column_of_name):
            return f"{name} {self.one(['', '', 'NOT '])}IN (SELECT {alias}.{column.name} FROM {text}{where})"
        if kind < 0.7:
            # SQLite 3.51 makes a join of EXISTS, and OFFSET counts its rows, those of ordinary tables too.
            words = ["NOT "] if (3, 51) <= self.version < (3, 53) else ["", "", "NOT "]
            return f"{self.one(words)}EXISTS (SELECT 1 FROM {text}{where})"
        if kind < 0.85:
            order = ", ".join(f"{alias}.{key}" for key in table.key) or f"{alias}.{column.name}"
            offset = self.one(["", "", " OFFSET 1"])
            if not table.key:
                return f"{name} IS NOT (SELECT count(*) FROM {text}{where})"
            self.is_coerced = True
            return f"{name} {self.one(self.comparisons)} (SELECT {alias}.{column.name} FROM {text}{where} ORDER BY {order} LIMIT 1{offset})"
        self.is_coerced = True
        return f"{name} {self.one(self.comparisons)} (SELECT {self.one(['count(*)', f'count({alias}.{column.name})', f'max({alias}.{column.name})'])} FROM {text}{where})"

    def predicate(self, items, depth=2):
        kind = self.random()
        if depth == 0 or kind < 0.45:
            return self.leaf(items)
        if kind < 0.5:
            return f"NOT ({self.predicate(items, depth - 1)})"
        left, right = self.predicate(items, depth - 1), self.predicate(items, depth - 1)
        if kind < 0.75:
            return f"(\1{left} AND \2{right})"
        if self.has_outer:
            return f"(\1{left} AND \2{right})"
        # SQLite makes an IN of ORs, and forgets a collation then
        self.is_listed = self.has_seek_list = True
        left, right = COLLATION.sub("", left), COLLATION.sub("", right)
        return f"({left}\1 OR {right}\2)"

    def where(self, scope, chance=0.85):
        conditions = list(scope.conditions)
        text = " AND ".join(conditions)
        if self.random() < chance:
            predicate = self.predicate(scope.items)
            text = f"{text}\1 AND {predicate}\2" if text else predicate
            if not conditions:
                return f"\1 WHERE {text}\2"
        return f" WHERE {text}" if text else ""

    # --- parts of a SELECT

    def selected(self, scope, most=4):
        names = []
        for _ in range(1 + int(self.random() * most)):
            name = self.shown(scope.items)
            if self.random() < 0.1:
                name = self.one(["typeof({})", "length({})", "{} IS NULL", "coalesce({}, 'none')", "CAST({} AS TEXT)", "{} || '.'"]).format(name)
            names.append(name)
        return names

    def window(self):
        """LIMIT and OFFSET."""
        number = lambda choices: self.bound(value := self.one(choices), str(value), "w")
        limit = f" LIMIT {number([0, 1, 1, 2, 2, 3, 5, 10, -1])}"
        return limit + (f" OFFSET {number([0, 1, 1, 2, 3, 4, 8, -1])}" if self.random() < 0.7 else "")

    def total_order(self, scope, most=2):
        """Terms that tell all rows from each other."""
        terms = [self.shown(scope.items) for _ in range(int(self.random() * most))]
        keys = list(scope.keys)
        if self.random() < 0.3:
            self.rng.shuffle(keys)
        way = self.one(["", "", " DESC", None])
        return ", ".join(f"{term}{self.one(['', ' DESC', ' COLLATE NOCASE', ' NULLS LAST']) if way is None else way}" for term in terms + keys)

    # --- queries

    def single(self):
        scope = self.scope_of_one(self.one(self.long) if self.random() < 0.01 else None)
        return self.of_scope(scope)

    def of_scope(self, scope):
        selected, where, kind = self.selected(scope), self.where(scope), self.random()
        text = f"SELECT {', '.join(selected)} FROM {scope.text}{where}"
        if kind < 0.35:
            return self.made(text)
        if kind < 0.55 or not scope.keys:  # an order that leaves ties: the ordered columns stand first
            n = 1 + int(self.random() * min(2, len(selected)))
            terms = ", ".join(f"{name}{self.one(['', ' DESC', ' NULLS LAST', ' COLLATE BINARY'])}" for name in selected[:n])
            if self.random() < 0.3:
                return self.made(f"{text} ORDER BY {terms}{self.window()}", how=WITHIN, norder=n, whole=text)
            return self.made(f"{text} ORDER BY {terms}", norder=n)
        order = f" ORDER BY {self.total_order(scope)}"
        return self.made(f"{text}{order}\1{self.window()}\2" if kind < 0.85 else text + order, how=IN_ORDER)

    def window_of_one(self):
        """LIMIT and OFFSET in the order in which the rows are."""
        scope = self.scope_of_one(self.one(self.long) if self.random() < 0.02 else None)
        if self.random() < 0.1 and scope.keys:  # of a row value SQLite hands over the first comparison
            scope.conditions.append(self.after(scope))
        where = self.where(scope, 0.5)
        text = f"SELECT {', '.join(self.selected(scope))} FROM {scope.text}{where}"
        if self.is_listed or not scope.is_in_order:
            return self.made(text + self.window(), how=WITHIN, whole=text)
        return self.made(text + self.window(), how=IN_ORDER)

    def joined(self):
        return self.of_scope(self.scope_of_join())

    def looked_up(self):
        scope = self.scope_of_lookups()
        if scope.nrows < 1000 and self.random() < 0.15:
            scope = self.scope_of_join(scope)
        return self.of_scope(scope)

    def aggregates(self, scope, most=3):
        made = []
        for _ in range(1 + int(self.random() * most)):
            name = self.shown(scope.items)
            forms = ["count(*)", "count({})", "count(DISTINCT {})", "min({})", "max({})", "count(*) FILTER (WHERE {} IS NOT NULL)"]
            if scope.smalls:
                forms += ["sum({1})", "avg({1})", "total({1})"]
            made.append(self.one(forms).format(name, self.one(scope.smalls) if scope.smalls else ""))
        return made

    def aggregated(self):
        scope = self.scope_of_one() if self.random() < 0.5 else self.scope_of_join() if self.random() < 0.7 else self.scope_of_lookups()
        made, where = self.aggregates(scope), self.where(scope)
        if self.random() < 0.3:
            return self.made(f"SELECT {', '.join(made)} FROM {scope.text}{where}", is_strict=False)
        groups = [self.shown(scope.items) for _ in range(1 + int(self.random() * 2))]
        having = f"\1 HAVING {self.one(made)} {self.one(self.comparisons)} {self.one(['0', '1', '2', 'NULL', '1.5'])}\2" if self.random() < 0.3 else ""
        text = f"SELECT {', '.join(groups + made)} FROM {scope.text}{where} GROUP BY {', '.join(groups)}{having}"
        if self.random() < 0.6:
            return self.made(text, is_strict=False)
        order = ", ".join(f"{i + 1}{self.one(['', ' DESC'])}" for i in range(len(groups)))
        return self.made(f"{text} ORDER BY {order}\1{self.window()}\2", how=IN_ORDER, is_strict=False)

    def distinct(self):
        scope = self.scope_of_one() if self.random() < 0.6 else self.scope_of_join()
        selected = self.selected(scope, 2)
        text = f"SELECT DISTINCT {', '.join(selected)} FROM {scope.text}{self.where(scope)}"
        if self.random() < 0.5:
            return self.made(text, is_strict=False)
        order = ", ".join(f"{i + 1}{self.one(['', ' DESC'])}" for i in range(len(selected)))
        return self.made(f"{text} ORDER BY {order}\1{self.window()}\2", how=IN_ORDER, is_strict=False)

    def compound(self):
        n, parts, is_in_order, words = 1 + int(self.random() * 2), [], True, []
        for i in range(2 if self.random() < 0.8 else 3):
            scope = self.scope_of_one()
            selected = self.selected(scope, 1)[:1] * n if n == 1 else [self.shown(scope.items) for _ in range(n)]
            parts.append(f"SELECT {', '.join(selected)} FROM {scope.text}{self.where(scope, 0.5)}")
            is_in_order = is_in_order and scope.is_in_order
        is_in_order = is_in_order and not self.is_listed
        for _ in parts[1:]:
            words.append(self.one([" UNION ALL ", " UNION ALL ", " UNION ", " EXCEPT ", " INTERSECT "]))
        text = parts[0] + "".join(word + part for word, part in zip(words, parts[1:]))
        is_all = set(words) == {" UNION ALL "}
        kind = self.random()
        if kind < 0.4:
            return self.made(text, is_strict=is_all)
        if kind < 0.6 and is_all:
            return self.made(text + self.window(), how=IN_ORDER if is_in_order else WITHIN, whole=text)
        order = ", ".join(f"{i + 1}{self.one(['', ' DESC'])}" for i in range(n))
        return self.made(f"{text} ORDER BY {order}\1{self.window()}\2", how=IN_ORDER, is_strict=False)

    def windowed(self):
        scope = self.scope_of_one() if self.random() < 0.7 else self.scope_of_join()
        name, _ = self.column(scope.items)
        functions = WINDOWS + (["sum({1})"] if scope.smalls else [])
        function = self.one(functions).format(name, self.one(scope.smalls) if scope.smalls else "")
        partition = f"PARTITION BY {self.shown(scope.items)} " if self.random() < 0.4 else ""
        order = f"ORDER BY {self.total_order(scope)}" if scope.keys else ""
        if not order:
            function, partition = "count(*)", ""
        over = f"{function} OVER ({partition}{order}{self.one(FRAMES) if order else ''})"
        text = f"SELECT {', '.join([over] + scope.keys)} FROM {scope.text}{self.where(scope)}"
        return self.made(text)

    def derived(self):
        """A subquery of FROM or a CTE, with a window of its own, joined with something."""
        self.is_on = True
        scope = self.scope_of_one()
        alias, table = scope.items[0]
        chosen = list({column.name: column for column in [table.by_name[key] for key in table.key] + table.outputs[:1] + self.several(table.columns)}.values())
        inner = f"SELECT {', '.join(f'{alias}.{column.name} AS {column.name}' for column in chosen)} FROM {scope.text}{self.where(scope, 0.6)}"
        if self.random() < 0.5 and scope.keys:
            inner += f" ORDER BY {self.total_order(scope)}\1{self.window()}\2"
        elif self.random() < 0.4 and table.is_in_order and not self.is_listed:
            inner += f"\1{self.window()}\2"
        name = self.alias()
        made = type(table)(name, chosen, table.key, table.nrows)
        if self.random() < 0.5:
            outer = Scope(f"({inner}) AS {name}", [(name, made)])
            prefix = ""
        else:
            outer = Scope(name, [(name, made)])
            prefix = f"WITH {name} AS {self.one(['', '', 'MATERIALIZED ', 'NOT MATERIALIZED '])}({inner}) "
        if self.random() < 0.5:
            outer = self.scope_of_join(outer)
        query = self.of_scope(outer)
        query.text = prefix + query.text
        query.whole = query.whole and prefix + query.whole
        return query

    def scalar(self):
        """A correlated scalar subquery in the SELECT list."""
        scope = self.scope_of_one() if self.random() < 0.5 else Scope("k AS a", [(self.alias(), self.ordinary[0])])
        name, _ = self.column(scope.items)
        table, alias = self.one(self.tables), "s"
        text, conditions = self.source(table, alias)
        column = self.one(table.columns)
        inner = self.one(table.outputs)
        conditions.append(self.compared(f"s.{inner.name}", inner, *self.column(scope.items)))
        made = self.one(["count(*)", f"count(s.{column.name})", f"max(s.{column.name})", f"min(s.{column.name})"])
        return self.made(f"SELECT {name}, (SELECT {made} FROM {text} WHERE {' AND '.join(conditions)}) FROM {scope.text}{self.where(scope, 0.5)}", is_strict=False)
