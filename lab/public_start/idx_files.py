"""IDX files, the array format of MNIST (docs/formats/datasets.md)."""

from __future__ import annotations

import gzip
import pathlib
import struct

import numpy as np

_TYPES = {np.dtype(np.uint8): 0x08, np.dtype(np.int32): 0x0C}


def write_idx(path: pathlib.Path, array: np.ndarray) -> None:
    """Writes a uint8 or int32 array, big-endian."""
    if array.dtype not in _TYPES:
        raise ValueError(f"{path}: IDX here holds uint8 or int32, not {array.dtype}")
    header = struct.pack(">BBBB", 0, 0, _TYPES[array.dtype], array.ndim)
    header += struct.pack(f">{array.ndim}I", *array.shape)
    data = array if array.dtype == np.uint8 else array.astype(array.dtype.newbyteorder(">"))
    path.write_bytes(header + np.ascontiguousarray(data).tobytes())


def read_idx(path: pathlib.Path) -> np.ndarray:
    """Reads `path`, or `path`.gz when there is no such file. ValueError for another content."""
    packed = path.with_name(path.name + ".gz")
    content = path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())
    types = {code: dtype for dtype, code in _TYPES.items()}
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in types:
        raise ValueError(f"{path} is not an IDX file of uint8 or int32")
    rank = content[3]
    if len(content) < 4 + 4 * rank:
        raise ValueError(f"{path} ends inside its header")
    shape = struct.unpack(f">{rank}I", content[4:4 + 4 * rank])
    dtype = types[content[2]]
    expected = 4 + 4 * rank + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if len(content) != expected:
        raise ValueError(f"{path} has {len(content)} bytes, its header announces {expected}")
    return np.frombuffer(content, dtype.newbyteorder(">"), offset=4 + 4 * rank).reshape(shape)
