"""Provider of OpenID Connect with one client, for tests: discovery, authorization code, keys."""

import base64
import hashlib
import http.server
import json
import pathlib
import secrets
import subprocess
import threading
import time
import urllib.parse


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Provider:
    """Signs in everybody who comes, as `user`, and changes tokens by `tamper(claims)`."""

    def __init__(self, folder: pathlib.Path, client: str, secret: str, redirect: str):
        self.client, self.secret, self.redirect = client, secret, redirect
        self.user = {"sub": "ann", "groups": ["tacet-operators"]}
        self.tamper = lambda claims: None
        self.signing_key = folder / "provider.key"
        self.published_key = self.signing_key
        self.make_key(self.signing_key)
        self.codes: dict[str, dict[str, str]] = {}
        self.faults: list[str] = []

        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def reply(self, status, body=b"", **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def reply_json(self, document):
                self.reply(200, json.dumps(document).encode(), Content_Type="application/json")

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                if url.path == "/.well-known/openid-configuration":
                    self.reply_json(provider.configuration())
                elif url.path == "/keys":
                    self.reply_json({"keys": [provider.public_key()]})
                elif url.path == "/authorize":
                    query = dict(urllib.parse.parse_qsl(url.query))
                    self.reply(302, Location=provider.authorize(query))
                else:
                    self.reply(404)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                answer = provider.exchange(dict(urllib.parse.parse_qsl(body)),
                                           self.headers.get("Authorization", ""))
                if answer is None:
                    self.reply(400)
                else:
                    self.reply_json(answer)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    @staticmethod
    def make_key(path: pathlib.Path):
        subprocess.run(["openssl", "genrsa", "-out", str(path), "2048"], check=True, capture_output=True)

    def configuration(self):
        return {
            "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/keys",
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            "code_challenge_methods_supported": ["S256"],
        }

    def public_key(self):
        said = subprocess.run(["openssl", "rsa", "-in", str(self.published_key), "-noout", "-modulus"],
                              check=True, capture_output=True, text=True).stdout
        modulus = bytes.fromhex(said.strip().removeprefix("Modulus="))
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "n": encoded(modulus),
                "e": encoded(b"\x01\x00\x01")}

    def expect(self, right, fault):
        if not right:
            self.faults.append(fault)

    def authorize(self, query):
        """Address to which the browser goes next."""
        self.expect(query.get("client_id") == self.client, f"client {query.get('client_id')}")
        self.expect(query.get("redirect_uri") == self.redirect, f"redirect {query.get('redirect_uri')}")
        self.expect(query.get("response_type") == "code", "another flow than the code flow")
        self.expect(query.get("code_challenge_method") == "S256", "no proof of possession of the code")
        self.expect("openid" in query.get("scope", ""), "scope without openid")
        code = secrets.token_urlsafe()
        self.codes[code] = query
        return f"{self.redirect}?" + urllib.parse.urlencode({"code": code, "state": query["state"]})

    def exchange(self, form, authorization):
        """Tokens for a code, once; nothing where client, secret or proof are wrong."""
        query = self.codes.pop(form.get("code"), None)
        basic = base64.b64encode(f"{self.client}:{self.secret}".encode()).decode()
        challenge = encoded(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if query is None or authorization != f"Basic {basic}" or challenge != query["code_challenge"]:
            self.expect(False, "wrong request for tokens")
            return None
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": self.client, "iat": now, "exp": now + 300,
                  "nonce": query.get("nonce"), **self.user}
        header = {"alg": "RS256", "kid": "1", "typ": "JWT"}
        self.tamper(claims)
        signed = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(self.signing_key)],
                                   check=True, input=signed.encode(), capture_output=True).stdout
        return {"access_token": secrets.token_urlsafe(), "token_type": "Bearer", "expires_in": 300,
                "id_token": f"{signed}.{encoded(signature)}"}
