"""Keeps what fuzzing has learned: `python3 tests/fuzz/learn.py FOLDER [TARGET...]` adds to learned.py's inputs those of runs with
FUZZ_CORPUS=FOLDER, as few and as small as libFuzzer can find (`make fuzz-learned`).
"""

import glob
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile

import learned
import run
import seeds


def learn(target, folder):
    """Keeps of the old inputs and of FOLDER/TARGET those that reach what neither the seeds nor the others do."""
    with tempfile.TemporaryDirectory(dir=run.BUILD) as work:
        seeds.write_seeds(work, target)
        given = set(os.listdir(os.path.join(work, target)))
        os.rename(os.path.join(work, target), os.path.join(work, "kept"))
        learned.write(work, target)
        sources = [path for path in (os.path.join(work, target), os.path.join(folder, target)) if os.path.isdir(path)]
        program, limits = os.path.join(run.BUILD, f"fuzz_{target}"), [f"-rss_limit_mb={run.RSS_MB}", f"-timeout={run.TIMEOUT}"]
        subprocess.run([program, "-merge=1", f"-max_len={run.max_length(target)}", *limits, os.path.join(work, "kept"), *sources],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        kept = [open(path, "rb").read() for path in glob.glob(os.path.join(work, "kept", "*")) if os.path.basename(path) not in given]
    kept.sort(key=lambda contents: (len(contents), hashlib.sha256(contents).digest()))
    with tarfile.open(os.path.join(learned.LEARNED, f"{target}.tar.xz"), "w:xz", preset=9) as archive:
        for number, contents in enumerate(kept, 1):
            member = tarfile.TarInfo(f"{number:05}")
            member.size = len(contents)
            archive.addfile(member, io.BytesIO(contents))
    print(f"{target:12} {len(kept):5} inputs, {sum(map(len, kept)):9,} bytes, {os.path.getsize(archive.name):8,} compressed", flush=True)


if __name__ == "__main__":
    os.makedirs(learned.LEARNED, exist_ok=True)
    for name in sys.argv[2:] or seeds.SEEDS:
        learn(name, sys.argv[1])
