#!/usr/bin/env python3
"""Independent reader of messages, written from docs/formats alone.

It shares no code with the library and needs Python's standard library and the program openssl. It
reads the bytes of tests/vectors/messages.json, verifies their signatures, opens what is encrypted,
and fails where a field has another value, or where an altered message is read all the same. It also
fails where the pages have a message that no file of vectors holds.

usage: read_messages.py MESSAGES_JSON CLOSED_ROUND_JSON COMMITTEE_JSON FORMATS_FOLDER
"""
import hashlib
import hmac
import json
import pathlib
import re
import struct
import sys

from decode_closed_round import Refused, hkdf, is_signed, require, sha256, xchacha_open
from open_hybrid_box import BASE, kem_key, open_box, x25519

# Pages whose messages travel between programs.
PAGES = ["messages.md", "manifest.md", "enrolment.md", "network.md", "checkpoint.md",
         "frameworks.md"]
# Of these pages, what stays in a folder: the entry of a coordinator's list.
FILES = {"TCT7"}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        require(self.at + size <= len(self.data), "cut short")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def u8(self):
        return self.number(1)

    def u32(self):
        return self.number(4)

    def u64(self):
        return self.number(8)

    def blob(self):
        return self.take(self.u32())

    def preamble(self, magic, version=1):
        require(self.take(4) == magic and self.number(2) == version, "another format or version")

    def signature(self, key, label):
        """Of a message that it ends, or of the head before it."""
        signed = self.data[:self.at]
        require(is_signed(key, label + signed, self.take(64)), "not signed")

    def rest(self):
        return self.take(len(self.data) - self.at)

    def end(self):
        require(self.at == len(self.data), "bytes behind the end")


def attempt(reader):
    manifest_hash = reader.take(32).hex()
    return {"manifest_hash": manifest_hash, **numbers(reader),
            "model_digest": reader.take(32).hex()}


def numbers(reader):
    return {"epoch": reader.u32(), "round": reader.u32(), "attempt": reader.u32()}


def state(reader):
    return {"round": reader.u32(), "model_digest": reader.take(32).hex(),
            "state_digest": reader.take(32).hex()}


def floats(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data))


class Federation:
    """Keys that the file gives, and what follows from the manifest."""

    def __init__(self, vectors):
        self.epoch_key = bytes.fromhex(vectors["epoch_key"])
        self.authority = bytes.fromhex(vectors["authority"])
        self.certificate = bytes.fromhex(vectors["certificate"])
        self.sites = []
        for site in vectors["sites"]:
            identity, exchange = (bytes.fromhex(site[key]) for key in ("identity", "exchange"))
            require(identity[:6] == b"TCTI\1\0", "an identity")
            scalar = hashlib.sha512(identity[38:70]).digest()[:32]
            self.sites.append({"encryption_seed": identity[38:70],
                               "encryption_key": x25519(scalar, BASE),
                               "exchange_key": x25519(exchange[:32], BASE),
                               "kem_seed": exchange[32:96],
                               "kem_key": kem_key(exchange[32:64])[0]})
        whole = next(bytes.fromhex(message["bytes"]) for message in vectors["messages"]
                     if message["message"] == "signed manifest")
        self.manifest = self.read_manifest(whole)
        self.whole_letter = next(bytes.fromhex(message["bytes"]) for message in vectors["messages"]
                                 if message["message"] == "letter")
        self.signing_keys = self.manifest["signing_keys"]
        self.hash = bytes.fromhex(self.manifest["fields"]["manifest_hash"])

    def agreement(self, data):
        """The terms that messages need, and the members' keys (manifest.md)."""
        reader = Reader(data)
        reader.preamble(b"TCTM", 3)
        identity = reader.take(32)
        training = reader.u32()
        model = reader.blob()
        dimension = reader.u64()
        initial_model = reader.take(32)
        clients = reader.u64()
        reader.take(16)
        seats = reader.u32()
        reader.take(8)
        committee = [reader.u64() for _ in range(seats)]
        reader.blob()
        reader.take(8 * 3 + 1 + 8 * 2 + 3)
        scheme = reader.u8()
        reader.take(8 * 4 + 4)
        reader.blob()
        reader.blob()
        reader.take(8 * 2 + 4 * 2)
        reader.blob()
        reader.take(8)
        annex = reader.take(32)
        reader.take(5)
        epoch_digest = reader.take(32)
        keys = [(reader.take(32), reader.take(32)) for _ in range(clients)]
        reader.end()
        require(model == b"logistic" and scheme == 1, "the terms")
        return {"identity": identity, "training": training, "dimension": dimension,
                "initial_model": initial_model, "committee": committee, "annex": annex,
                "epoch_digest": epoch_digest, "keys": keys}

    def read_manifest(self, data):
        reader = Reader(data)
        reader.preamble(b"TCTF", 2)
        name, epoch, predecessor = reader.blob(), reader.u32(), reader.take(32)
        require((epoch == 0) == (predecessor == bytes(32)), "the predecessor")
        terms = reader.blob()
        agreed = self.agreement(terms)
        require(sha256(reader.blob()) == agreed["annex"], "the annex")
        digest = b"tacet/2/epoch" + struct.pack("<I", len(name)) + name + struct.pack(
            "<I", epoch) + predecessor + struct.pack("<Q", len(agreed["keys"]))
        kem_digests = []
        for site, (signing_key, exchange_key) in zip(self.sites, agreed["keys"]):
            member, encryption_key, kem_digest = reader.blob(), reader.take(32), reader.take(32)
            line = struct.pack("<I", len(member)) + member + encryption_key
            require(is_signed(signing_key, b"tacet/2/member" + line + exchange_key + kem_digest,
                              reader.take(64)), "a member's signature")
            require((encryption_key, exchange_key, kem_digest) == (
                site["encryption_key"], site["exchange_key"], sha256(site["kem_key"])), "keys")
            digest += line + kem_digest
            kem_digests.append(kem_digest)
        for member in agreed["committee"]:
            require(sha256(reader.take(1184)) == kem_digests[member], "a seat's KEM key")
        begin = reader.at
        reader.blob()
        for _ in range(reader.u32()):
            reader.blob()
        reader.blob()
        require(reader.blob() == self.authority, "the authority")
        coordinator = reader.take(32)
        digest += reader.data[begin:reader.at]
        require(sha256(digest) == agreed["epoch_digest"], "the epoch digest")
        reader.signature(coordinator, b"tacet/1/signed manifest")
        reader.end()
        return {**agreed, "signing_keys": [key for key, _ in agreed["keys"]],
                "coordinator": coordinator,
                "fields": {"federation": name.decode(), "epoch": epoch,
                           "predecessor": predecessor.hex(), "manifest_hash": sha256(terms).hex()}}

    def key_of(self, member):
        require(member < len(self.signing_keys), "a member that does not exist")
        return self.signing_keys[member]

    # --- one function for each message: its fields ----------------------------------------------

    def signed_manifest(self, reader):
        return self.read_manifest(reader.rest())["fields"]

    def enrolment_request(self, reader):
        reader.preamble(b"TCTQ", 3)
        name = reader.blob()
        require(reader.u8() == 0 and reader.u32() == 0, "a server's request")
        signing_key, encryption_key, exchange_key = (reader.take(32) for _ in range(3))
        digest = sha256(reader.take(1184))
        line = struct.pack("<I", len(name)) + name + encryption_key + exchange_key + digest
        require(is_signed(signing_key, b"tacet/2/member" + line, reader.take(64)), "the member")
        reader.blob()
        reader.signature(signing_key, b"tacet/1/enrolment request")
        reader.end()
        return {"name": name.decode()}

    def encrypted_epoch_key(self, reader):
        reader.preamble(b"TCTE", 2)
        context = b"tacet/1/encrypted epoch key" + reader.take(44)
        member = int.from_bytes(context[-8:], "little")
        require(context[27:59] == self.hash, "another manifest")
        self.key_of(member)
        box = reader.take(1168)
        reader.signature(self.manifest["coordinator"], b"tacet/1/encrypted epoch key")
        reader.end()
        site = self.sites[member]
        require(open_box(box, site["encryption_seed"], site["kem_seed"], context)
                == self.epoch_key, "the epoch key")
        return {"member": member}

    def invitation(self, reader):
        reader.preamble(b"TCTJ", 2)
        last = self.read_manifest(reader.blob())["fields"]
        earlier = [self.read_manifest(reader.blob())["fields"] for _ in range(reader.u32())]
        chain = [*earlier, last]
        for before, after in zip(chain, chain[1:]):
            require(after["predecessor"] == before["manifest_hash"], "the chain")
        require(reader.blob() == self.certificate, "the certificate")
        self.encrypted_epoch_key(Reader(reader.blob()))
        model = reader.blob()
        digest = hmac.new(model[:32], b"tacet/1/model" + model[32:], hashlib.sha256).digest()
        require(digest == self.manifest["initial_model"], "the initial model")
        reader.end()
        return {"earlier": len(earlier)}

    def enclosure(self, reader, letter):
        """With certificate and epoch key of the letter it is the invitation file."""
        context = b"tacet/1/enclosure" + self.hash
        opened = Reader(xchacha_open(hkdf(self.epoch_key, context, 32), reader.rest(), context))
        opened.preamble(b"TCTJ", 2)
        opened.blob()
        for _ in range(opened.u32()):
            opened.blob()
        before = opened.data[:opened.at]
        require(opened.blob() == b"" and opened.blob() == b"", "an empty place")
        parts = Reader(letter)
        parts.take(6 + 32 + 32 + 4 + 32 + 8)
        certificate, key = parts.blob(), parts.blob()
        whole = before + b"".join(struct.pack("<I", len(part)) + part
                                  for part in (certificate, key)) + opened.rest()
        return {"invitation": sha256(whole).hex()}

    def letter(self, reader):
        reader.preamble(b"TCTl")
        require(reader.take(32) == self.manifest["identity"], "another federation")
        require(reader.take(32) in self.signing_keys, "another site")
        require(reader.u32() == 1 and reader.take(32) == self.hash, "another epoch")
        expires = reader.u64()
        require(reader.blob() == self.certificate, "the certificate")
        self.encrypted_epoch_key(Reader(reader.blob()))
        fields = {"expires": expires, "enclosure_bytes": reader.u64(),
                  "enclosure": reader.take(32).hex()}
        reader.signature(self.manifest["coordinator"], b"tacet/1/letter")
        reader.end()
        return fields

    def letter_reply(self, reader):
        reader.preamble(b"TCTr")
        require(reader.take(32) == self.manifest["identity"], "another federation")
        require(reader.u32() == 1 and reader.take(32) == self.hash, "another epoch")
        require(reader.take(32) == sha256(self.certificate), "another certificate")
        require(reader.take(32) == sha256(self.whole_letter), "another letter")
        verdict, number = reader.u8(), reader.u8()
        require(verdict in (1, 2) and number <= (32 if verdict == 2 else 0), "the verdict")
        fields = [reader.blob() for _ in range(number)]
        for name in fields:
            require(re.fullmatch(rb"[a-z0-9._]{1,64}", name) is not None, "a field's name")
        reader.signature(self.key_of(1), b"tacet/1/letter reply")
        reader.end()
        return {"joined": verdict == 1, "fields": [name.decode() for name in fields]}

    def of_epoch(self, reader):
        require(reader.take(32) == self.hash and reader.u32() == 1, "another manifest or epoch")

    def model_attestation(self, reader):
        reader.preamble(b"TCTT", 2)
        self.of_epoch(reader)
        fields = {"member": reader.u64(), **state(reader)}
        reader.signature(self.key_of(fields["member"]), b"tacet/1/model attestation")
        reader.end()
        return fields

    def abstention(self, reader):
        reader.preamble(b"TCT8")
        fields = {**attempt(reader), "member": reader.u64(), "reason": reader.u8()}
        reader.signature(self.key_of(fields["member"]), b"tacet/1/abstention")
        reader.end()
        return fields

    def objection(self, reader):
        reader.preamble(b"TCT4")
        require(reader.take(32) == self.hash, "another manifest")
        fields = {**numbers(reader), "member": reader.u64(), "revision": reader.u64(),
                  "reason": reader.u8()}
        reader.signature(self.key_of(fields["member"]), b"tacet/1/objection")
        reader.end()
        return fields

    def opening_statement(self, reader):
        reader.preamble(b"TCT9", 2)
        self.of_epoch(reader)
        fields = {"word": reader.u8(), "member": reader.u64(), **state(reader)}
        if reader.u8() == 1:
            fields["earlier"] = state(reader)
        reader.signature(self.key_of(fields["member"]), b"tacet/1/epoch opening")
        reader.end()
        return fields

    def announcement(self, reader):
        reader.preamble(b"TCTA", 2)
        require(reader.take(32) == self.hash, "another manifest")
        fields = {"epoch": reader.u32(), "revision": reader.u64(), "finished": reader.u32(),
                  "stopped": reader.u8(), "recalls": reader.u8()}
        if reader.u8() == 1:
            fields |= {"attempt": attempt(reader), "phase": reader.u8(), "invited": reader.u8(),
                       "deadline": reader.u64(), "participants": reader.u32()}
        fields["kept"] = [attempt(reader) for _ in range(reader.u32())]
        fields["first_listed"] = reader.u64()
        fields["listed"] = [numbers(reader) for _ in range(reader.u32())]
        reader.end()
        return fields

    def part_behind(self, reader, fields, key, label, put):
        """The signature of a head, and the part that a put-request has behind it."""
        length, digest = (reader.u32(), reader.take(32)) if put else (0, None)
        reader.signature(key, label)
        if put:
            part = reader.take(length)
            require(sha256(part) == digest, "another part than was signed")
            fields["part"] = part.hex()
        reader.end()
        return fields

    def member_request(self, reader):
        reader.preamble(b"TCTR")
        kind = reader.u8()
        self.of_epoch(reader)
        fields = {"kind": kind, "member": reader.u64(), "time": reader.u64()}
        if kind == 1:
            fields |= {"known": reader.u64(), "listed_from": reader.u64(),
                       "unmasking": reader.u8()}
        elif kind in (2, 3):
            fields |= {"object": reader.u8(), "attempt": attempt(reader)}
            if kind == 2:
                fields |= {"total": reader.u64(), "digest": reader.take(32).hex()}
            else:
                fields["index"] = reader.u32()
            fields["offset"] = reader.u64()
        elif kind in (4, 5, 6, 13):
            fields["attempt"] = attempt(reader)
            if kind == 4:
                fields["blob"] = reader.blob().hex()
            elif kind == 6:
                fields["confirmed"] = reader.u8()
            elif kind == 13:
                fields["from"] = reader.u64()
        elif kind in (7, 9, 11, 12):
            fields["blob"] = reader.blob().hex()
        elif kind == 8:
            fields["round"] = reader.u32()
        else:
            require(kind == 10, "the kind")
        return self.part_behind(reader, fields, self.key_of(fields["member"]),
                                b"tacet/1/member request", kind == 2)

    def mail_request(self, reader):
        reader.preamble(b"TCTm")
        kind = reader.u8()
        require(reader.take(32) == self.manifest["identity"], "another federation")
        sender = reader.take(32)
        require(sender in (*self.signing_keys, self.manifest["coordinator"]), "the sender")
        fields = {"kind": kind, "time": reader.u64(), "mail": reader.u8(),
                  "site": reader.take(32).hex()}
        if kind == 1:
            fields["total"] = reader.u64()
        if kind in (1, 3):
            fields["digest"] = reader.take(32).hex()
        if kind in (1, 2):
            fields["offset"] = reader.u64()
        return self.part_behind(reader, fields, sender, b"tacet/1/mail request", kind == 1)

    def partial_sum(self, reader):
        reader.preamble(b"TCTP", 2)
        fields = {"attempt": attempt(reader), "scheme": reader.u8()}
        require(reader.u8() == 0, "reserved")
        fields["dimension"] = reader.u64()
        fields["uploads"] = [{"participant": reader.u64(), "nonce": reader.take(16).hex()}
                             for _ in range(reader.u32())]
        fields["aggregated_ciphertext_bytes"] = len(reader.blob())
        reader.end()
        return fields

    def checkpoint_fields(self, reader, model_bytes):
        reader.preamble(b"TCTX", 2)
        require(reader.take(32) == self.manifest["identity"], "another federation")
        fields = {"training": reader.u32(), "next_round": reader.u32()}
        require(reader.u64() == self.manifest["dimension"], "another model")
        fields["model"] = floats(reader.take(model_bytes))
        return fields

    def checkpoint(self, reader):
        fields = self.checkpoint_fields(reader, 4 * self.manifest["dimension"])
        before = reader.data[:reader.at]
        words = struct.unpack(f"<{(len(before) + 3) // 4}I", before + bytes(-len(before) % 4))
        n = len(words)
        sums = (n + sum(words), sum((n - i) * word for i, word in enumerate(words)))
        require(tuple(value % 2 ** 64 for value in sums) == struct.unpack("<2Q", reader.take(16)),
                "the checksum")
        reader.end()
        return fields

    def attempt_key(self, name, epoch, round_number):
        info = b"tacet/1/" + struct.pack("<I", len(name)) + name + self.hash + struct.pack(
            "<B3I", 1, epoch, round_number, 0)
        return hkdf(self.epoch_key, info, 32)

    def encrypted_checkpoint(self, reader):
        reader.preamble(b"TCTS", 2)
        start = attempt(reader)
        writer = reader.u64()
        associated = b"tacet/1/encrypted checkpoint" + reader.data[:reader.at]
        nonce = reader.take(24)
        key = self.attempt_key(b"checkpoint", start["epoch"], start["round"])
        text = xchacha_open(key, nonce + reader.rest(), associated)
        repeatable = hkdf(key, b"tacet/1/repeatable nonce", 32)
        made = hmac.new(repeatable, struct.pack("<Q", len(associated)) + associated + text,
                        hashlib.sha256).digest()
        require(made[:24] == nonce, "the nonce")
        opened = Reader(text)
        fields = self.checkpoint_fields(opened, len(text) - 54)
        digest = hmac.new(self.attempt_key(b"digest", start["epoch"], 0),
                          b"tacet/1/model" + text[54:], hashlib.sha256).hexdigest()
        require(digest == start["model_digest"] and fields["next_round"] == start["round"],
                "another state than it names")
        return {**fields, "writer": writer, "model_digest": digest}

    def bundle_of_requests(self, reader):
        reader.preamble(b"TCT2")
        requests = [reader.blob() for _ in range(reader.u32())]
        reader.end()
        for request in requests:
            self.member_request(Reader(request))
        return {"requests": [request.hex() for request in requests]}

    def bundle_of_answers(self, reader):
        reader.preamble(b"TCT3")
        fields = {"codes": [], "answers": []}
        for _ in range(reader.u32()):
            reader.take(32)
            fields["codes"].append(reader.u8())
            fields["answers"].append(reader.blob().hex())
        fields["pushed"] = [(reader.take(32), reader.blob().hex())[1]
                            for _ in range(reader.u32())]
        reader.end()
        return fields


# Not signed or encrypted: a reader of one of these sees no change of a field.
UNPROTECTED = {"announcement", "partial sum", "bundle of requests", "bundle of answers"}


def check_messages(vectors):
    federation = Federation(vectors)
    for message in vectors["messages"]:
        name = message["message"].split(",")[0]
        data = bytes.fromhex(message["bytes"])

        def read(changed, name=name):
            reader = Reader(changed)
            if name == "enclosure":
                return federation.enclosure(reader, federation.whole_letter)
            return getattr(federation, name.replace(" ", "_"))(reader)

        require(read(data) == message["fields"], f"{message['message']}: another field")
        changes = {"cut": data[:-1]}
        if name not in UNPROTECTED:
            for place in (len(data) // 3, len(data) - 1):
                changes[f"altered at {place}"] = (data[:place] + bytes([data[place] ^ 1])
                                                  + data[place + 1:])
        for what, changed in changes.items():
            try:
                read(changed)
            except Refused:
                continue
            raise Refused(f"{message['message']}, {what}, is read all the same")
    return len(vectors["messages"])


def check_pages(folder, held):
    """Each message of the pages is in a file of vectors, by the four characters that open it."""
    for page in PAGES:
        text = (pathlib.Path(folder) / page).read_text(encoding="utf-8")
        for magic in re.findall(r"\|(?: magic| preamble) \| `(TCT.)`", text):
            require(magic in FILES or magic.encode().hex() in held,
                    f"{page}: {magic} has no vector")


def main(messages_file, closed_round_file, committee_file, formats):
    texts = {}
    for name in (messages_file, closed_round_file, committee_file):
        with open(name, encoding="utf-8") as file:
            texts[name] = file.read()
    number = check_messages(json.loads(texts[messages_file]))
    check_pages(formats, "".join(texts.values()))
    print(f"{number} messages are read, and no altered one; every message of the pages has vectors")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Refused as refused:
        sys.exit(f"refused: {refused}")
