#!/usr/bin/env python3
"""Drawn characters: a public data set from which a model can start.

Writes an IDX folder (docs/formats/datasets.md) of invented writers. Their characters come from pen
strokes (letter_strokes.py) and, with --fonts, from skeletons of fonts. No person's data are used.
The images imitate the layout of LEAF's FEMNIST: black-and-white fields of 128 x 128, the character
centred, reduced to 28 x 28. Equal arguments and equal fonts give equal bytes.

    draw_characters.py --writers 3000 --samples 200 --seed 1 --out drawn
"""

from __future__ import annotations

import argparse
import multiprocessing
import pathlib
import sys

import numpy as np
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from font_skeletons import FontSkeletons  # noqa: E402
from idx_files import write_idx  # noqa: E402
from letter_strokes import CLASSES, FORMS, control_points, curve  # noqa: E402

FIELD = 128  # pixels of a scanned field, as in NIST Special Database 19
IMAGE = 28
CAPITAL = 42.0  # mean height of a capital in the field

# Samples of each class for 1000 in all, as in NIST's collection: the digits are half of it, and
# the letters of the preamble that its writers copied are more frequent than others.
FREQUENCIES = dict(zip(CLASSES, (
    50, 56, 50, 51, 49, 45, 50, 52, 49, 49,
    9, 6, 14, 6, 7, 13, 4, 5, 17, 6, 3, 7, 13, 12, 35, 12, 4, 7, 29, 14, 18, 7, 7, 4, 7, 4,
    14, 8, 4, 14, 34, 4, 5, 12, 4, 3, 4, 22, 4, 15, 4, 3, 4, 19, 4, 26, 4, 4, 4, 4, 4, 4)))

# NIST files small letters of copied text under the capital where the two look alike. Share of a
# capital's samples that are written as the small letter.
WRITTEN_SMALL = {"C": .65, "F": .65, "I": .5, "M": .7, "O": .7, "P": .65, "S": .7, "U": .65,
                 "V": .45, "W": .2, "Y": .4, "J": .1, "X": .1, "Z": .05}


class Writer:
    """Habits of an invented writer: forms, slant, size, pen. Depends on (seed, number) alone."""

    def __init__(self, seed: int, number: int, fonts: FontSkeletons | None, font_share: float):
        self.rng = rng = np.random.default_rng([seed, number])
        self.slant = rng.normal(.12, .22)
        self.aspect = np.exp(rng.normal(-.08, .14))
        self.size = np.exp(rng.normal(-.02, .15))
        self.pen = np.clip(rng.normal(2.8, .7), 1.5, 5.5)  # radius in the field
        self.habit = rng.uniform(.02, .06)  # deviation of a habitual point from its form
        self.jitter = rng.uniform(.01, .035)  # of a point from the habit
        self.wobble = rng.uniform(.0, .03)
        self.fonts = fonts
        self.font = None if fonts is None else int(rng.integers(len(fonts)))
        self.font_share = font_share * 2 * rng.random()
        self.small_share = {c: rng.beta(3 * p, 3 * (1 - p)) for c, p in WRITTEN_SMALL.items()}
        self.shape_of: dict[str, tuple] = {}

    def _habit(self, symbol: str) -> tuple:
        """This writer's usual shape of a symbol, or now and then another one."""
        rng = self.rng
        if symbol in self.shape_of and rng.random() < .9:
            return self.shape_of[symbol]
        if self.fonts is not None and rng.random() < self.font_share:
            font = self.font if rng.random() < .5 else int(rng.integers(len(self.fonts)))
            shape = ("font", self.fonts.points(font, symbol))
        else:
            strokes = []
            for points, corners in control_points(symbol, int(rng.integers(len(FORMS[symbol])))):
                moved = points + rng.normal(0, self.habit, points.shape)
                strokes.append((moved, corners))
            shape = ("strokes", strokes, rng.normal(1, .1, 2))
        self.shape_of[symbol] = shape
        return shape

    def _path(self, symbol: str) -> np.ndarray:
        rng = self.rng
        shape = self._habit(symbol)
        if shape[0] == "font":
            return shape[1]
        pieces = []
        for points, corners in shape[1]:
            pieces.append(curve(points + rng.normal(0, self.jitter, points.shape), corners, .03))
        return np.concatenate(pieces) * shape[2]

    def image(self, symbol: str) -> np.ndarray:
        """A new sample of a class, uint8 (28, 28), ink 255."""
        rng = self.rng
        if symbol in self.small_share and rng.random() < self.small_share[symbol]:
            symbol = symbol.lower()
        path = self._path(symbol)
        height = max(np.ptp(path[:, 1]), .3)
        path = path - (path.min(0) + path.max(0)) / 2
        slant = self.slant + rng.normal(0, .07)
        turn = rng.normal(0, .05)
        size = self.size * np.exp(rng.normal(0, .09))
        x = path[:, 0] * self.aspect * np.exp(rng.normal(0, .08)) + slant * path[:, 1]
        y = path[:, 1]
        x, y = x + turn * y, y - turn * x
        for _ in range(2):  # a smooth field of displacements
            fx, fy = rng.normal(0, 5, 2)
            phase, ax, ay = rng.uniform(0, 6.3), *rng.normal(0, self.wobble, 2)
            wave = np.sin(fx * x + fy * y + phase)
            x, y = x + ax * wave, y + ay * wave
        field = np.stack([x, -y], 1) * (CAPITAL * size * height ** -.08)
        # Centred by the box of the ink, with an error of the segmentation.
        field += FIELD / 2 - (field.min(0) + field.max(0)) / 2 + rng.normal(0, 1.2, 2)
        return reduce(stamp(field, max(1.2, self.pen * np.exp(rng.normal(0, .08)))))


def stamp(points: np.ndarray, radius: float) -> np.ndarray:
    """Discs of `radius` at points (n, 2) as (x, y), black-and-white uint8 (128, 128)."""
    span = int(np.ceil(radius))
    dy, dx = np.mgrid[-span:span + 1, -span:span + 1]
    inside = dx**2 + dy**2 <= radius**2
    at = np.clip(np.rint(points).astype(np.int64), span, FIELD - 1 - span)
    flat = (at[:, 1] * FIELD + at[:, 0])[:, None] + (dy * FIELD + dx)[inside][None, :]
    field = np.zeros(FIELD * FIELD, np.uint8)
    field[flat] = 255
    return field.reshape(FIELD, FIELD)


def reduce(field: np.ndarray) -> np.ndarray:
    """A field reduced to 28 x 28 as LEAF does it."""
    return np.asarray(Image.fromarray(field).resize((IMAGE, IMAGE), Image.LANCZOS))


def draw_writer(job: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 (n, 28, 28) and classes uint8 (n,) of one writer."""
    seed, number, samples, fonts, font_share = job
    writer = Writer(seed, number, fonts, font_share)
    weights = np.array([FREQUENCIES[c] for c in CLASSES], float)
    labels = writer.rng.choice(len(CLASSES), samples, p=weights / weights.sum())
    return np.stack([writer.image(CLASSES[c]) for c in labels]), labels.astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--writers", type=int, default=3000, help="number of invented writers")
    parser.add_argument("--samples", type=int, default=200, help="characters of each writer")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fonts", help="skeletons of fonts, as font_skeletons.py writes them")
    parser.add_argument("--font-share", type=float, default=.3,
                        help="mean share of a writer's shapes that come from fonts")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--out", required=True, help="folder to write")
    args = parser.parse_args()
    if args.writers < 1 or args.samples < 1:
        parser.error("--writers and --samples are at least 1")
    fonts = FontSkeletons.load(args.fonts) if args.fonts else None
    jobs = [(args.seed, w, args.samples, fonts, args.font_share) for w in range(args.writers)]
    images = np.empty((args.writers * args.samples, IMAGE, IMAGE), np.uint8)
    labels = np.empty(len(images), np.uint8)
    with multiprocessing.Pool(args.jobs) as pool:
        for w, (own, classes) in enumerate(pool.imap(draw_writer, jobs, chunksize=8)):
            images[w * args.samples:(w + 1) * args.samples] = own
            labels[w * args.samples:(w + 1) * args.samples] = classes
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    write_idx(out / "images-idx3-ubyte", images)
    write_idx(out / "labels-idx1-ubyte", labels)
    write_idx(out / "writers-idx1-int", np.repeat(np.arange(args.writers, dtype=np.int32),
                                                   args.samples))
    print(f"{len(images)} characters of {args.writers} invented writers in {out}")


if __name__ == "__main__":
    main()
