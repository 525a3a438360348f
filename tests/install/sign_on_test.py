"""Sign-on for the operators' page: packaging/apache before a real server, with Apache's module
mod_auth_openidc and a provider of this test. Exits with 77 where Apache or the module is missing.

usage: sign_on_test.py PROGRAM SERVER
"""

import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

from openid_provider_for_test import Provider

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM, SERVER = sys.argv.pop(1), sys.argv.pop(1)
APACHE = shutil.which("apache2", path="/usr/sbin:/usr/bin")
MODULES = pathlib.Path("/usr/lib/apache2/modules")
TOKEN = "the-token-that-the-proxy-holds"
OPERATOR = "an-operator-has-another-token-of-its-own"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(ready, process, log):
    """Waits for a state of a process that must not end before."""
    while not ready():
        if process.poll() is not None:
            raise AssertionError(f"{process.args[0]} ended: {log.read_text()}")
        time.sleep(0.05)


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


class Browser:
    """Follows no redirection by itself, and keeps cookies of the proxy."""

    def __init__(self, port, trust):
        self.port, self.trust, self.cookies, self.cookie_lines = port, trust, {}, []

    def get(self, path, method="GET", body=None, **headers):
        line = http.client.HTTPSConnection("localhost", self.port, context=self.trust)
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        # Pages are asked for as by a person, data as by a script.
        accept = "*/*" if path.startswith("/api") else "text/html"
        line.request(method, path, body, headers={"User-Agent": "browser", "Accept": accept, **headers})
        answer = line.getresponse()
        body = answer.read().decode(errors="replace")
        line.close()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                self.cookie_lines.append(value)
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.split(";")[0]
        return answer.status, dict(answer.getheaders()), body

    def sign_in(self, path="/"):
        """Opens a page, goes to the provider and back. The answer of the way back."""
        status, headers, _ = self.get(path)
        assert status == 302, status
        there = urllib.parse.urlsplit(headers["Location"])
        line = http.client.HTTPConnection(there.hostname, there.port)
        line.request("GET", f"{there.path}?{there.query}")
        back = urllib.parse.urlsplit(line.getresponse().getheader("Location"))
        line.close()
        return self.get(f"{back.path}?{back.query}")


class SignOn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.folder.chmod(0o755)
        cls.start_server()
        cls.port = free_port()
        cls.provider = Provider(cls.folder, "tacet-page", "the-secret-of-the-client",
                                f"https://localhost:{cls.port}/signed-in")
        cls.addClassCleanup(cls.provider.close)
        cls.start_apache()

    @classmethod
    def start(cls, log, command):
        with open(log, "w", encoding="utf-8") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)

        def end():
            process.send_signal(signal.SIGTERM)
            process.wait()

        cls.addClassCleanup(end)
        return process

    @classmethod
    def start_server(cls):
        folder, key = cls.folder, f"--key-file={cls.folder / 'key'}"
        (folder / "agreed.toml").write_text("""
[data]
classes = 2
[model]
name = "logistic"
input_shape = [10]
[federation]
rounds = 2
[privacy]
noise_multiplier = 6
scale = 1e-2
""")

        def run(*arguments):
            done = subprocess.run([PROGRAM, *arguments, key], check=False, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return done.stdout

        coordinator = ["--folder", str(folder / "coordinator")]
        said = run("federation", "init", *coordinator, "--name", "test", "--members", "3", "--config",
                   str(folder / "agreed.toml"))
        fingerprint = re.search(r"^coordinator +(.*)$", said, re.M)[1]
        for name in ("hub", "north", "south", "west"):
            home = str(folder / name)
            said = run("client", "request", "--home", home, "--name", name,
                       *(["--server-host", "127.0.0.1"] if name == "hub" else []))
            run("federation", "enrol", name, *coordinator, "--server", "hub", "--request",
                f"{home}/{name}.request", "--fingerprint", re.search(r"^fingerprint +(.*)$", said, re.M)[1])
        run("federation", "seal-key", *coordinator)
        run("client", "join", f"{folder}/coordinator/invitations/hub-epoch-0.tacet", "--home",
            str(folder / "hub"), "--coordinator", fingerprint)
        token = folder / "token"
        token.touch(0o600)
        token.write_text(TOKEN + "\n")
        operators = folder / "operators"
        operators.touch(0o600)
        operators.write_text(f"ann {OPERATOR}\n")
        log = folder / "server.log"
        server = cls.start(folder / "server.out", [
            SERVER, "--home", str(folder / "hub"), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
            "--page-token-file", str(token), "--operators", str(operators), "--log", str(log), key])
        log.touch()
        found = lambda: re.search(r'"event":"admin-listening".*?"page":"(http://[^"/]+)', log.read_text())
        wait_for(found, server, log)
        cls.page = found()[1]

    @classmethod
    def start_apache(cls):
        folder = cls.folder
        certificate, key = folder / "proxy.pem", folder / "proxy.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key),
                        "-out", str(certificate)], check=True, capture_output=True)
        settings = (SOURCE / "packaging/apache/tacet-page-settings.conf").read_text()
        values = {"name": "localhost", "port": cls.port, "certificate": certificate,
                  "certificate_key": key, "page": cls.page, "page_token": TOKEN,
                  "provider": cls.provider.issuer, "client": "tacet-page",
                  "client_secret": "the-secret-of-the-client", "session_secret": "a-random-text",
                  "log": folder / "page.log"}
        for name, value in values.items():
            settings, count = re.subn(rf"(?m)^Define tacet_{name} .*$",
                                      lambda _, n=name, v=value: f"Define tacet_{n} {v}", settings)
            assert count == 1, name
        (folder / "settings.conf").write_text(settings)
        modules = ("mpm_event authn_core authz_core authz_user auth_openidc headers proxy "
                   "proxy_http rewrite socache_shmcb ssl").split()
        (folder / "apache.conf").write_text("\n".join([
            f"ServerRoot {folder}", f"PidFile {folder}/apache.pid", f"ErrorLog {folder}/error.log",
            "User www-data", "Group www-data", f"Listen 127.0.0.1:{cls.port}", "ServerName localhost",
            f"DefaultRuntimeDir {folder}", f"Mutex file:{folder}", "StartServers 1",
            *[f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in modules],
            f"Include {folder}/settings.conf",
            f"Include {SOURCE}/packaging/apache/tacet-page.conf", ""]))
        apache = cls.start(folder / "apache.out",
                           [APACHE, "-f", str(folder / "apache.conf"), "-D", "FOREGROUND"])
        wait_for(lambda: listens(cls.port), apache, folder / "apache.out")
        cls.trust = ssl.create_default_context(cafile=str(certificate))

    def setUp(self):
        self.provider.user = {"sub": "ann", "groups": ["tacet-operators"]}
        self.provider.tamper = lambda claims: None
        self.provider.signing_key = self.provider.published_key
        self.browser = Browser(self.port, self.trust)

    def tearDown(self):
        self.assertEqual(self.provider.faults, [])

    def assert_no_data(self, browser, **headers):
        for path in ("/", "/live.js", "/api/status", "/api/agreement"):
            status, _, body = browser.get(path, **headers)
            self.assertIn(status, (302, 401, 403), path)
            self.assertNotIn("attendance", body)
            self.assertNotIn("<script", body)

    def test_an_operator_signs_in_and_needs_no_token(self):
        status, headers, _ = self.browser.sign_in()
        self.assertEqual((status, headers["Location"]), (302, f"https://localhost:{self.port}/"))
        status, headers, body = self.browser.get("/")
        self.assertEqual(status, 200)
        self.assertIn("live.js", body)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        status, _, body = self.browser.get("/api/status", Authorization="Bearer signed-in")
        self.assertEqual(status, 200)
        self.assertIn("attendance", json.loads(body))
        self.assertEqual(self.browser.get("/api/agreement")[0], 200)
        self.assertNotIn(TOKEN, body + str(headers))
        self.assertIn("ann@", (self.folder / "page.log").read_text())
        [session] = [line for line in self.browser.cookie_lines
                     if line.startswith("mod_auth_openidc_session=")]
        self.assertIn("; Secure", session)
        self.assertIn("; HttpOnly", session)

    def test_the_address_for_people_opens_the_page_without_a_question(self):
        self.browser.sign_in("/operators")
        status, headers, _ = self.browser.get("/operators")
        self.assertEqual(status, 302)
        self.assertTrue(headers["Location"].endswith("/#token=signed-in"), headers["Location"])

    def test_nobody_sees_data_before_sign_on(self):
        self.assert_no_data(self.browser)
        self.assertEqual(self.browser.get("/api/status")[0], 401)
        self.assert_no_data(self.browser, Authorization=f"Bearer {TOKEN}")
        self.browser.cookies = {"mod_auth_openidc_session": "00000000-0000-0000-0000-000000000000"}
        self.assert_no_data(self.browser)

    def test_somebody_who_is_no_operator_sees_nothing(self):
        for groups in ([], ["nurses"], ["tacet-operators-of-another"]):
            self.provider.user = {"sub": "ben", "groups": groups}
            browser = Browser(self.port, self.trust)
            browser.sign_in()
            self.assert_no_data(browser)

    def test_forged_tokens_of_the_provider_are_refused(self):
        another = self.folder / "another.key"
        self.provider.make_key(another)

        def set_claim(name, value):
            return lambda claims: claims.update({name: value})

        # A token without a signature is believed, as the standard permits: it comes from the
        # provider itself, over TLS.
        forgeries = {
            "another issuer": set_claim("iss", "http://127.0.0.1:1"),
            "another client": set_claim("aud", "another"),
            "another browser's": set_claim("nonce", "another"),
            "too old": set_claim("exp", 1),
        }
        for name, tamper in forgeries.items():
            with self.subTest(name):
                self.provider.tamper = tamper
                browser = Browser(self.port, self.trust)
                browser.sign_in()
                self.assert_no_data(browser)
        self.provider.tamper = lambda claims: None
        self.provider.signing_key = another
        self.browser.sign_in()
        self.assert_no_data(self.browser)

    def test_an_operator_reaches_the_page_and_nothing_else(self):
        self.browser.sign_in()
        for path in ("/metrics", "/readyz", "/healthz", "/api/", "/api/status/x", "/..%2fmetrics"):
            status, _, body = self.browser.get(path)
            self.assertIn(status, (403, 404), path)
            self.assertNotIn("tacet_", body)
        for method in ("POST", "PUT", "DELETE"):
            self.assertIn(self.browser.get("/api/status", method=method)[0], (401, 403), method)

    def test_nobody_acts_through_the_proxy(self):
        """An operator's token acts at the server's own address, as the last request shows."""
        token, body = f"Bearer {OPERATOR}", '{"revision": 0, "action": "pause"}'
        own = {"Authorization": token, "Content-Type": "application/json"}
        self.browser.sign_in()
        for path in ("/api/act", "/api/act?x=1", "/api/status/../act", "/api/status%2f..%2fact"):
            for method in ("POST", "GET"):
                status, _, _ = self.browser.get(path, method=method, body=body, **own)
                self.assertIn(status, (401, 403, 404, 405), (path, method))
        paused = lambda: json.loads(self.browser.get("/api/status")[2])["operators"]["pause"]
        self.assertIsNone(paused())
        self.assertNotIn("operator-acted", (self.folder / "server.log").read_text())
        host = self.page.removeprefix("http://")
        line = http.client.HTTPConnection(host)
        line.request("POST", "/api/act", body, own)
        self.assertEqual(line.getresponse().status, 200)
        line.close()
        self.assertEqual(paused()["by"], "ann")
        self.assertNotIn(OPERATOR, (self.folder / "server.log").read_text())


if __name__ == "__main__":
    if APACHE is None or not (MODULES / "mod_auth_openidc.so").exists():
        print("sign_on_test: apache2-bin and libapache2-mod-auth-openidc are not installed")
        sys.exit(77)
    unittest.main()
