#!/usr/bin/env python3
"""Skeletons of the characters of fonts: lines that a pen could follow.

    font_skeletons.py --packages tools/packages/public-start --out fonts.npz

Renders the 62 digits and letters of each font, thins them (Zhang and Suen 1984) and stores the
points of the lines. A font is left out when it lacks a character, draws two of them alike that
hands do not, or is so ornamented that its characters resemble no other font's.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from letter_strokes import CLASSES  # noqa: E402

CAPITAL = 56  # height of a capital when it is thinned, pixels
BOX = 120
BASELINE = 84
MAX_POINTS = 700  # of a character; more is ornament


def thin(images: np.ndarray) -> np.ndarray:
    """Skeletons of bool images (n, h, w): Zhang and Suen's parallel thinning."""
    ink = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    while True:
        changed = False
        for step in (0, 1):
            p = [ink[:, 1 + dy:ink.shape[1] - 1 + dy, 1 + dx:ink.shape[2] - 1 + dx] for dy, dx in
                 ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))]
            around = sum(x.astype(np.int8) for x in p)
            rises = sum((~p[i] & p[(i + 1) % 8]).astype(np.int8) for i in range(8))
            if step == 0:
                open_sides = ~(p[0] & p[2] & p[4]) & ~(p[2] & p[4] & p[6])
            else:
                open_sides = ~(p[0] & p[2] & p[6]) & ~(p[0] & p[4] & p[6])
            here = ink[:, 1:-1, 1:-1]
            remove = here & (around >= 2) & (around <= 6) & (rises == 1) & open_sides
            if remove.any():
                changed = True
                here &= ~remove
        if not changed:
            return ink[:, 1:-1, 1:-1]


def font_characters(path: pathlib.Path) -> np.ndarray | None:
    """The characters of a font, bool (62, 120, 120), capitals 56 high; None if it has not all."""
    try:
        font = ImageFont.truetype(str(path), 100)
        box = font.getbbox("H", anchor="ls")
        if box[3] - box[1] < 20:
            return None
        font = ImageFont.truetype(str(path), round(100 * CAPITAL / (box[3] - box[1])))
        missing = font.getmask("\uffff").getbbox(), bytes(font.getmask("\uffff"))
        images = np.zeros((len(CLASSES), BOX, BOX), bool)
        for i, symbol in enumerate(CLASSES):
            mask = font.getmask(symbol)
            if mask.getbbox() is None or (mask.getbbox(), bytes(mask)) == missing:
                return None
            image = Image.new("L", (BOX, BOX))
            left, _, right, _ = font.getbbox(symbol, anchor="ls")
            ImageDraw.Draw(image).text(((BOX - right - left) / 2, BASELINE), symbol, 255, font,
                                       anchor="ls")
            images[i] = np.asarray(image) > 127
    except (OSError, ValueError):  # bitmap fonts, and fonts that FreeType cannot scale
        return None
    return images


def signatures(skeletons: np.ndarray) -> np.ndarray:
    """Coarse pictures of skeletons for comparison, unit vectors (n, 256)."""
    out = np.empty((len(skeletons), 256))
    for i, skeleton in enumerate(skeletons):
        picture = np.asarray(Image.fromarray(skeleton.astype(np.uint8) * 255)
                             .resize((16, 16), Image.BOX), float).ravel()
        out[i] = picture / max(np.linalg.norm(picture), 1e-9)
    return out


class FontSkeletons:
    """Points (n, 2) of each font's characters in heights of a capital, y upwards."""

    def __init__(self, names: list[str], points: np.ndarray, first: np.ndarray):
        self.names, self._points, self._first = names, points, first

    def __len__(self) -> int:
        return len(self.names)

    def points(self, font: int, symbol: str) -> np.ndarray:
        at = font * len(CLASSES) + CLASSES.index(symbol)
        return self._points[self._first[at]:self._first[at + 1]].astype(float) / CAPITAL

    def save(self, path: str) -> None:
        np.savez_compressed(path, names=np.array(self.names), points=self._points,
                            first=self._first)

    @staticmethod
    def load(path: str) -> FontSkeletons:
        with np.load(path) as file:
            return FontSkeletons([str(n) for n in file["names"]], file["points"], file["first"])

    @staticmethod
    def make(files: list[pathlib.Path], least_likeness: float = .45) -> FontSkeletons:
        """Reads font files, in the order of their names."""
        files = sorted((p for p in files if p.suffix.lower() in (".ttf", ".otf", ".ttc")),
                       key=lambda p: (p.name, str(p)))
        names, kept, seen = [], [], set()
        for path in files:
            images = font_characters(path)
            if images is None:
                continue
            key = np.packbits(images).tobytes()
            if key in seen:
                continue
            seen.add(key)
            skeletons = thin(images)
            if skeletons.sum((1, 2)).max() > MAX_POINTS or skeletons.sum((1, 2)).min() < 8:
                continue
            names.append(path.name)
            kept.append(skeletons)
        if not kept:
            raise ValueError("none of the fonts has all 62 characters")
        # A font stays when its own characters are nearest to the mean of their class.
        pictures = np.stack([signatures(skeletons) for skeletons in kept])
        means = pictures.mean(0)
        likeness = [(np.argmax(picture @ means.T, 1) == np.arange(len(CLASSES))).mean()
                    for picture in pictures]
        chosen = [i for i, share in enumerate(likeness) if share >= least_likeness]
        points, first = [], [0]
        for i in chosen:
            for skeleton in kept[i]:
                y, x = np.nonzero(skeleton)
                points.append(np.stack([x - BOX / 2, BASELINE - y], 1).astype(np.int16))
                first.append(first[-1] + len(x))
        return FontSkeletons([names[i] for i in chosen], np.concatenate(points), np.array(first))


def packaged_files(list_of_packages: pathlib.Path) -> list[pathlib.Path]:
    """Font files of the installed Debian packages that a file names, one a line."""
    lines = list_of_packages.read_text().splitlines()
    names = [line for line in lines if line.startswith("fonts-")]
    listed = subprocess.run(["dpkg-query", "-L", *names], check=True, capture_output=True,
                            text=True).stdout.splitlines()
    return [pathlib.Path(line) for line in listed if line.startswith("/usr/share/fonts/")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--packages", type=pathlib.Path, help="file that lists Debian packages")
    parser.add_argument("--fonts", nargs="*", type=pathlib.Path, default=[], help="font files")
    parser.add_argument("--out", required=True, help="file to write, .npz")
    args = parser.parse_args()
    files = args.fonts + (packaged_files(args.packages) if args.packages else [])
    if not files:
        parser.error("--packages or --fonts names no font")
    fonts = FontSkeletons.make(files)
    fonts.save(args.out)
    print(f"{len(fonts)} fonts in {args.out}")


if __name__ == "__main__":
    main()
