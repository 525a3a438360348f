#!/usr/bin/env python3
"""Signs the files of an invented release and verifies them by the commands of docs/deploy.md."""

import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


class SignedChecksums(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.release = self.folder / "release"
        self.release.mkdir()
        (self.release / "tacet_1.0_amd64.deb").write_bytes(b"program")
        (self.release / "tacet-server_1.0_amd64.deb").write_bytes(b"server")
        self.key = self.make_key("key")
        public = (self.folder / "key.pub").read_text()
        (self.release / "tacet-signers").write_text(f"releases@tacet {public}")

    def make_key(self, name):
        path = self.folder / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
        return path

    def sign(self, key):
        subprocess.run([ROOT / "tools/sign_checksums.sh", key, self.release], check=True)

    def verify(self):
        """The outputs of the two commands, or nothing where one fails."""
        page = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
        commands = re.search(r"```\n( *ssh-keygen -Y verify .*?)```", page, re.S)[1]
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=self.release,
                              check=False, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else None

    def test_a_release_is_verified(self):
        self.sign(self.key)
        said = self.verify()
        self.assertIn("tacet_1.0_amd64.deb: OK", said)
        self.assertIn("tacet-server_1.0_amd64.deb: OK", said)
        self.sign(self.key)
        self.assertNotIn(".sig", (self.release / "SHA256SUMS").read_text())

    def test_a_changed_file_is_refused(self):
        self.sign(self.key)
        (self.release / "tacet_1.0_amd64.deb").write_bytes(b"Program")
        self.assertIsNone(self.verify())

    def test_changed_checksums_are_refused(self):
        self.sign(self.key)
        (self.release / "tacet_1.0_amd64.deb").write_bytes(b"Program")
        subprocess.run("sha256sum *.deb tacet-signers > SHA256SUMS", shell=True, check=True,
                       cwd=self.release)
        self.assertIsNone(self.verify())

    def test_the_signature_of_another_key_is_refused(self):
        self.sign(self.make_key("another"))
        self.assertIsNone(self.verify())

    def test_a_signature_for_another_purpose_is_refused(self):
        self.sign(self.key)
        (self.release / "SHA256SUMS.sig").unlink()
        subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", self.key, "-n", "git", "SHA256SUMS"],
                       check=True, cwd=self.release)
        self.assertIsNone(self.verify())


if __name__ == "__main__":
    unittest.main()
