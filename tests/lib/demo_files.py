"""Writes the demo's files, which are committed: four training runs and the experiment log that lists them.

    python3 tests/lib/demo_files.py
"""

import os
import struct
import zipfile

from formats import npz, numbers, ten

DEMO = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "demo")

LOG = """\
run,optimizer,learning_rate,width
r1,sgd,0.1,8
r2,sgd,0.01,8
r3,adam,0.001,8
r4,adam,0.001,16
"""


def loss(run, epoch):
    decay = (0.9, 0.97, 0.8, 0.75)[run - 1]
    return round(0.1 * run + 2.0 * decay**epoch, 3)


def weight(layer, i):
    return ((i * 37 + layer * 11) % 64 - 32) / 64


def files(run):
    """A run's files; r3 saved its weights in half precision and r4 stopped early."""
    epochs = 6 if run == 4 else 8
    width = 16 if run == 4 else 8
    dtype = "<f2" if run == 3 else "<f4"
    layers = [
        ("hidden.weight", (4, width)), ("hidden.bias", (width,)), ("out.weight", (width, 3)), ("out.bias", (3,))
    ]
    weights = []
    for number, (name, shape) in enumerate(layers):
        size = shape[0] * (shape[1] if len(shape) == 2 else 1)
        weights.append((name + ".npy", numbers(dtype, shape, [weight(number, i) for i in range(size)])))
    pixels = bytes((run * 40 + 7 * i) % 256 for i in range(2 * 4 * 4))
    return {
        "loss.npy": numbers("<f4", (epochs,), [loss(run, epoch) for epoch in range(epochs)]),
        "confusion.npy": numbers("<i8", (3, 3), [9 - run, 1, run - 1, 0, 10, 0, run, 1, 9 - run]),
        "weights.npz": npz(weights, zipfile.ZIP_DEFLATED),
        "batch.ten": ten([("u1", "images", (2, 4, 4), pixels), ("i8", "labels", (2,), struct.pack("<2q", run % 3, 1))]),
    }


def make(folder):
    for run in (1, 2, 3, 4):
        place = os.path.join(folder, "runs", f"r{run}")
        os.makedirs(place, exist_ok=True)
        for name, data in files(run).items():
            with open(os.path.join(place, name), "wb") as file:
                file.write(data)
    with open(os.path.join(folder, "experiments.csv"), "w") as file:
        file.write(LOG)


if __name__ == "__main__":
    make(DEMO)
