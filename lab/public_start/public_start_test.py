#!/usr/bin/env python3
"""Tests of the drawing tools, and the whole recipe in small: draw, pretrain, train privately.

    public_start_test.py [PATH OF tacet-lab]

Without NumPy or Pillow it ends with 77: skipped.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
try:
    import numpy as np
    from PIL import Image  # noqa: F401
except ImportError:
    import os
    import shutil
    other = "/usr/bin/python3"
    # Debian's packages are seen by Debian's Python alone.
    if shutil.which(other) and subprocess.run([other, "-c", "import numpy, PIL"], check=False,
                                              stderr=subprocess.DEVNULL).returncode == 0:
        os.execv(other, [other, *sys.argv])
    print("NumPy or Pillow is missing")
    sys.exit(77)

from draw_characters import FIELD, Writer, draw_writer, reduce, stamp  # noqa: E402
from font_skeletons import FontSkeletons, thin  # noqa: E402
from idx_files import read_idx, write_idx  # noqa: E402
from letter_strokes import CLASSES, FORMS, control_points, curve  # noqa: E402
from split_writers import in_tenth  # noqa: E402

LAB = None
SMALL = """
[data]
classes = 62
held_out = 0.25
[model]
name = "mlp"
hidden = [16]
[federation]
rounds = {rounds}
cohort = 3
[privacy]
clip_norm = 1
{noise}
[run]
{flags}
"""


class StrokesTest(unittest.TestCase):
    def test_every_class_has_forms_of_legible_size(self):
        self.assertEqual(len(CLASSES), 62)
        for symbol in CLASSES:
            for form in range(len(FORMS[symbol])):
                points = np.concatenate([p for p, _ in control_points(symbol, form)])
                self.assertGreater(np.ptp(points[:, 1]), .5, symbol)
                self.assertLess(np.abs(points).max(), 1.25, symbol)

    def test_a_curve_meets_its_points_and_is_dense(self):
        points, corners = control_points("2", 0)[0]
        drawn = curve(points, corners, .03)
        for point in points:
            self.assertLess(np.hypot(*(drawn - point).T).min(), .02)
        self.assertLess(np.hypot(*np.diff(drawn, axis=0).T).max(), .06)

    def test_a_corner_is_straight_on_both_sides(self):
        line = curve(np.array([[0., 1], [0, 0], [1, 0]]), np.array([False, True, False]), .05)
        on_axis = np.minimum(np.abs(line[:, 0]), np.abs(line[:, 1]))
        self.assertLess(on_axis.max(), 1e-9)


class DrawingTest(unittest.TestCase):
    def test_equal_seeds_draw_equal_images_and_others_do_not(self):
        images, labels = draw_writer((7, 3, 20, None, 0.))
        again, same = draw_writer((7, 3, 20, None, 0.))
        other, _ = draw_writer((8, 3, 20, None, 0.))
        np.testing.assert_array_equal(images, again)
        np.testing.assert_array_equal(labels, same)
        self.assertTrue((images != other).any())

    def test_characters_are_small_thin_and_centred(self):
        images = np.concatenate([draw_writer((1, w, 50, None, 0.))[0] for w in range(8)])
        self.assertEqual(images.shape[1:], (28, 28))
        self.assertGreater((images == 0).mean(), .8)
        ink = images.astype(float)
        ink /= ink.sum((1, 2), keepdims=True)
        centre = (ink * np.arange(28)).sum((1, 2))
        self.assertLess(abs(centre.mean() - 13.5), .5)
        self.assertTrue((images.max((1, 2)) > 100).all())

    def test_a_stamp_stays_inside_the_field(self):
        field = stamp(np.array([[-50., 64], [500, 500]]), 3)
        self.assertEqual(field.shape, (FIELD, FIELD))
        self.assertGreater(field.sum(), 0)
        self.assertEqual(reduce(field).shape, (28, 28))

    def test_capitals_that_look_alike_are_sometimes_small(self):
        writer = Writer(1, 1, None, 0.)
        self.assertEqual(set(writer.small_share), set("CFIMOPSUVWYJXZ"))


class SkeletonTest(unittest.TestCase):
    def test_a_bar_becomes_a_line(self):
        bar = np.zeros((1, 30, 40), bool)
        bar[0, 10:19, 5:35] = True
        line = thin(bar)[0]
        self.assertTrue((line.sum(0)[10:30] == 1).all())
        self.assertTrue((np.nonzero(line[:, 20])[0] == 14).all())

    def test_a_ring_stays_a_ring(self):
        y, x = np.mgrid[-20:21, -20:21]
        ring = (np.hypot(x, y) < 16) & (np.hypot(x, y) > 8)
        line = thin(ring[None])[0]
        radius = np.hypot(x, y)[line]
        self.assertGreater(radius.min(), 10)
        self.assertLess(radius.max(), 14.5)
        self.assertGreater(line.sum(), 60)

    def test_stored_points_are_read_back(self):
        first = np.arange(len(CLASSES) + 1) * 2
        points = np.arange(len(CLASSES) * 4, dtype=np.int16).reshape(-1, 2)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/fonts.npz"
            FontSkeletons(["a"], points, first).save(path)
            fonts = FontSkeletons.load(path)
            self.assertEqual(len(fonts), 1)
            np.testing.assert_allclose(fonts.points(0, "1"), points[2:4] / 56)
            images, _ = draw_writer((1, 1, 10, fonts, .5))
            self.assertEqual(len(images), 10)


class FilesTest(unittest.TestCase):
    def test_idx_files_are_read_back_and_broken_ones_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "labels-idx1-ubyte"
            for array in (np.arange(6, dtype=np.uint8).reshape(2, 3), np.array([-1], np.int32)):
                write_idx(path, array)
                np.testing.assert_array_equal(read_idx(path), array)
            for content in (b"", b"\0\0\x09\1\0\0\0\1x", b"\0\0\x08\1\0\0\0\2x", b"\0\0\x08\4\0"):
                path.write_bytes(content)
                with self.assertRaises(ValueError):
                    read_idx(path)
            with self.assertRaises(ValueError):
                write_idx(path, np.zeros(2))

    def test_the_tenth_is_spread_over_all_writers(self):
        writers = np.repeat(np.array([5, 3, 9] + list(range(100, 120)), np.int32), 4)
        tenth = in_tenth(writers)
        self.assertEqual(set(writers[tenth]), {5, 104, 112})  # numbers 0, 7 and 15 of 23
        self.assertEqual(tenth.sum(), 12)


class RecipeTest(unittest.TestCase):
    def run_lab(self, *arguments):
        made = subprocess.run([LAB, "reproduce", "public-start", "--configs", "configs", "--out",
                               "out", "--threads", "1", *arguments], cwd=self.folder, check=False,
                              capture_output=True, text=True)
        return made

    def test_drawn_characters_make_a_start_for_a_private_run(self):
        if LAB is None:
            self.skipTest("no path of tacet-lab")
        with tempfile.TemporaryDirectory() as folder:
            self.folder = pathlib.Path(folder)
            subprocess.run([sys.executable, FOLDER / "draw_characters.py", "--writers", "20",
                            "--samples", "30", "--jobs", "2", "--out", self.folder / "drawn"],
                           check=True, stdout=subprocess.DEVNULL)
            configs = self.folder / "configs"
            configs.mkdir()
            open_run = ("no_encryption = true\nno_quantisation = true\nno_noise = true\n"
                        "no_clip = true")
            (configs / "pretrain.toml").write_text(
                SMALL.format(rounds=6, noise="", flags=open_run))
            (configs / "t20.toml").write_text(SMALL.format(rounds=2, noise="noise_multiplier = 4", flags=""))
            refused = self.run_lab("--row", "t20", "--data", "drawn")
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("--start names the model.f32", refused.stderr)
            refused = self.run_lab("--row", "random-start", "--data", "drawn", "--start", "any")
            self.assertIn("leave --start out", refused.stderr)
            refused = self.run_lab("--data", "drawn")
            self.assertIn("public-start trains one row", refused.stderr)
            made = self.run_lab("--row", "pretrain", "--data", "drawn")
            self.assertEqual(made.returncode, 0, made.stderr)
            made = self.run_lab("--row", "t20", "--data", "drawn", "--start",
                                "out/pretrain/model.f32")
            self.assertEqual(made.returncode, 0, made.stderr)
            # The same settings from another start are a row of their own.
            made = self.run_lab("--row", "short-start", "--data", "drawn", "--start",
                                "out/pretrain/model.f32")
            self.assertEqual(made.returncode, 0, made.stderr)
            start = json.loads((self.folder / "out/pretrain.json").read_text())
            other = json.loads((self.folder / "out/short-start.json").read_text())
            self.assertIn("--row short-start", other["command"])
            record = json.loads((self.folder / "out/t20.json").read_text())
            self.assertIsNone(start["start_sha256"])
            self.assertEqual(len(record["start_sha256"]), 64)
            self.assertIn("--start START", record["command"])
            # It begins where the start ended, and is private.
            self.assertAlmostEqual(record["accuracy_before"], start["accuracy"], places=9)
            self.assertGreater(record["epsilon"], 0)
            self.assertEqual(record["labels"], [])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        LAB = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
