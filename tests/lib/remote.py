"""A host of URLs: the three SQL functions through which npyext reads them, over files in memory. It notes what it is asked."""

import fnmatch
import json
import zlib


class Host:
    """files: a dict of URLs and bytes, which a test may change; a file's version is another one after that. answer, if it
    is set, is called with each function's name, question and answer, and gives another answer or raises."""

    def __init__(self, files=()):
        self.files = dict(files)
        self.asked = []
        self.answer = None

    def bind(self, connection):
        for name in ("info", "read", "glob"):
            connection.create_function(f"npyext_remote_{name}", 1, getattr(self, name))
        return connection

    def version(self, url):
        return f"v{zlib.crc32(self.files[url]):08x}"

    def info(self, urls):
        urls = json.loads(urls)
        found = [[len(self.files[url]), self.version(url)] if url in self.files else None for url in urls]
        return self._give("info", urls, json.dumps(found))

    def read(self, ranges):
        ranges = json.loads(ranges)
        parts = []
        for url, version, off, nbytes in ranges:
            if url not in self.files or self.version(url) != version:
                return self._give("read", ranges, "changed")
            parts.append(self.files[url][off : off + nbytes])
        return self._give("read", ranges, b"".join(parts))

    def glob(self, pattern):
        matches = sorted(url for url in self.files if fnmatch.fnmatchcase(url, pattern))
        return self._give("glob", pattern, json.dumps([[url, len(self.files[url]), self.version(url)] for url in matches]))

    def _give(self, name, question, answer):
        self.asked.append((name, question))
        return answer if self.answer is None else self.answer(name, question, answer)

    def take(self):
        """What was asked since the last time: the names of the functions, and how many bytes of each URL."""
        asked, self.asked = self.asked, []
        nbytes = {}
        for name, question in asked:
            for url, _, _, wanted in question if name == "read" else ():
                nbytes[url] = nbytes.get(url, 0) + wanted
        return [name for name, _ in asked], nbytes
