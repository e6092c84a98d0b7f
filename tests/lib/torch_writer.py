"""Files as torch.save makes them, and what is in them, for tests/reading/test_torch.py:

    python3 tests/lib/torch_writer.py SEED COUNT FOLDER

For each file N.pt there is an N.json: the name of every tensor, its dtype, its shape and its bytes as hexadecimal text. It is a program
of its own because PyTorch does not run below a sanitizer.
"""

import collections
import json
import os
import random
import sys

import torch

DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
    torch.complex64, torch.complex128,
]  # fmt: skip
# What newer releases have besides.
NEWER = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "uint16", "uint32", "uint64"]
DTYPES += [getattr(torch, name) for name in NEWER if hasattr(torch, name)]
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
KEYS = ["weight", "layer.1", "", "ä", "a b", "_modules", 0, -7, 2.5, True, None, (1, "x"), b"k\0'", "quo'te"]


def random_tensor(rng, made):
    if made and rng.random() < 0.2:
        tensor = rng.choice(made)  # shares its storage, or is the same tensor again
    else:
        shape = [rng.randrange(5) if rng.random() < 0.1 else rng.randrange(1, 5) for _ in range(rng.randrange(4))]
        dtype = rng.choice(DTYPES)
        tensor = torch.randint(0, 2 if dtype == torch.bool else 100, shape).to(dtype)
        if rng.random() < 0.5 and dtype.is_floating_point:
            tensor = ((tensor.double() - 50) / 3).to(dtype)
        made.append(tensor)
    for _ in range(rng.randrange(3)):
        tensor = random_view(rng, tensor)
    if rng.random() < 0.2 and tensor.dtype.is_floating_point:
        tensor = torch.nn.Parameter(tensor, requires_grad=rng.random() < 0.5)
    return tensor


def random_view(rng, tensor):
    if not tensor.ndim:
        return tensor.expand(rng.randrange(1, 4)) if rng.random() < 0.5 else tensor
    axis = rng.randrange(tensor.ndim)
    kind = rng.randrange(6)
    if kind == 0:
        return tensor.transpose(axis, rng.randrange(tensor.ndim))
    if kind == 1 and str(tensor.dtype).removeprefix("torch.") not in NEWER:  # which cannot be flipped
        return tensor.flip(axis)
    if kind == 2 and tensor.shape[axis]:
        first = rng.randrange(tensor.shape[axis])
        return tensor.narrow(axis, first, rng.randrange(tensor.shape[axis] - first + 1))
    if kind == 3 and tensor.shape[axis]:
        return tensor.select(axis, rng.randrange(tensor.shape[axis]))
    if kind == 4:
        return tensor.unsqueeze(axis).expand(*tensor.shape[:axis], rng.randrange(1, 4), *tensor.shape[axis:])
    return tensor[(slice(None),) * axis + (slice(None, None, rng.randrange(1, 3)),)]


def random_tree(rng, made, depth=0):
    kind = rng.randrange(8) if depth else rng.randrange(4)
    if kind < 4 and depth < 4:
        items = [random_tree(rng, made, depth + 1) for _ in range(rng.randrange(1, 5))]
        if kind == 0:
            return items
        if kind == 1:
            return tuple(items)
        keys = rng.sample(KEYS, len(items))
        return (dict if kind == 2 else collections.OrderedDict)(zip(keys, items))
    return rng.choice([3, "text", 2.5, None, True]) if kind == 4 else random_tensor(rng, made)


def tensors(tree, name=""):
    """(name, tensor) in the order of the tree."""
    if isinstance(tree, torch.Tensor):
        yield name, tree
        return
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, (list, tuple)) else ()
    for key, part in parts:
        key = key if isinstance(key, str) else repr(key)
        yield from tensors(part, f"{name}.{key}" if name else key)


def random_module(rng):
    layers = [
        lambda: torch.nn.Linear(rng.randrange(1, 5), rng.randrange(1, 5)), lambda: torch.nn.BatchNorm1d(rng.randrange(1, 5)),
        lambda: torch.nn.Conv2d(2, 3, 2), lambda: torch.nn.Embedding(3, 2), lambda: torch.nn.ReLU(),
        lambda: torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2)), lambda: torch.nn.GRU(2, 3), lambda: torch.nn.MultiheadAttention(4, 2),
    ]  # fmt: skip
    return torch.nn.Sequential(*[rng.choice(layers)() for _ in range(rng.randrange(1, 5))])


def random_content(rng):
    """What is saved, and the tensors that are expected in it."""
    kind = rng.random()
    if kind < 0.6:
        tree = random_tree(rng, [])
        return tree, list(tensors(tree))
    module = random_module(rng)
    if kind < 0.75:
        return module.state_dict(), list(module.state_dict().items())
    if kind < 0.9:
        return module, None
    parameters = list(module.parameters()) or [torch.nn.Parameter(torch.ones(2))]
    optimizer = torch.optim.Adam(parameters)
    for parameter in parameters:
        parameter.grad = torch.rand_like(parameter)
    optimizer.step()
    tree = {"model": module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 7}
    return tree, list(tensors(tree))


def told(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    is_numpy = "float8" not in str(tensor.dtype) and tensor.dtype != torch.bfloat16
    octets = (tensor if is_numpy else tensor.view(BITS[tensor.element_size()])).numpy().tobytes()
    return {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape), "data": octets.hex()}


def main(seed, count, folder):
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        torch.manual_seed(rng.randrange(2**31))
        content, expected = random_content(rng)
        is_zip = rng.random() < 0.6
        path = os.path.join(folder, f"{number}.pt")
        torch.save(content, path, _use_new_zipfile_serialization=is_zip, pickle_protocol=rng.choice([2, 2, 3, 4, 5]))
        if expected is None:  # the module itself: it has the same tensors, in an order of its own
            expected = sorted(content.state_dict().items())
        with open(os.path.join(folder, f"{number}.json"), "w") as file:
            json.dump({"is_module": isinstance(content, torch.nn.Module), "tensors": [[name, told(tensor)] for name, tensor in expected]}, file)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
