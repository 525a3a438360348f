#!/usr/bin/env python3
"""Independent decoder of closed rounds, written from docs/formats alone.

It shares no code with the library and needs Python's standard library and the program openssl (for
AES). It adds the uploads of tests/vectors/closed_round.json, decrypts their closed round, computes
tests/vectors/committee.json again, and fails where a value is another one.

usage: decode_closed_round.py CLOSED_ROUND_JSON COMMITTEE_JSON
"""
import hashlib
import hmac
import itertools
import json
import math
import struct
import subprocess
import sys

from open_hybrid_box import kem_decapsulate, kem_encrypt, kem_key


class Refused(Exception):
    """A message, or a sum, that a member must refuse."""


def require(condition, reason):
    if not condition:
        raise Refused(reason)


# --- primitives -------------------------------------------------------------------------------

def sha256(data):
    return hashlib.sha256(data).digest()


def hkdf(key, info, size):
    """HKDF-SHA256 of RFC 5869 with an empty salt."""
    extracted = hmac.new(bytes(32), key, hashlib.sha256).digest()
    output, block = b"", b""
    for counter in range(1, 256):
        if len(output) >= size:
            break
        block = hmac.new(extracted, block + info + bytes([counter]), hashlib.sha256).digest()
        output += block
    return output[:size]


def openssl(*arguments, data):
    return subprocess.run(["openssl", *arguments], input=data, stdout=subprocess.PIPE,
                          check=True).stdout


def aes_ctr(key, counter, size):
    """The key stream of AES-256-CTR."""
    return openssl("enc", "-aes-256-ctr", "-K", key.hex(), "-iv", counter.hex(),
                   data=bytes(size))


def aes_block(key, block):
    return openssl("enc", "-aes-256-ecb", "-nopad", "-K", key.hex(), data=block)


def chacha_rounds(state):
    words = list(state)

    def rotate(x, n):
        return (x << n | x >> (32 - n)) & 0xFFFFFFFF

    def quarter(a, b, c, d):
        for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            words[x] = (words[x] + words[y]) & 0xFFFFFFFF
            words[z] = rotate(words[z] ^ words[x], n)

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return words


CHACHA_CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")


def chacha_block(key, counter, nonce):
    state = CHACHA_CONSTANTS + struct.unpack("<8I", key) + (counter,) + struct.unpack("<3I", nonce)
    words = [(a + b) & 0xFFFFFFFF for a, b in zip(chacha_rounds(state), state)]
    return struct.pack("<16I", *words)


def poly1305(key, data):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for i in range(0, len(data), 16):
        block = data[i:i + 16] + b"\x01"
        total = (total + int.from_bytes(block, "little")) * r % (2**130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def xchacha_open(key, box, associated):
    """XChaCha20-Poly1305: nonce (24 bytes), ciphertext, authenticator (16 bytes)."""
    nonce, ciphertext, tag = box[:24], box[24:-16], box[-16:]
    words = chacha_rounds(CHACHA_CONSTANTS + struct.unpack("<8I", key)
                          + struct.unpack("<4I", nonce[:16]))
    subkey = struct.pack("<8I", *words[:4], *words[12:])
    inner = bytes(4) + nonce[16:]

    def padded(data):
        return data + bytes(-len(data) % 16)

    lengths = struct.pack("<2Q", len(associated), len(ciphertext))
    expected = poly1305(chacha_block(subkey, 0, inner)[:32],
                        padded(associated) + padded(ciphertext) + lengths)
    require(hmac.compare_digest(expected, tag), "an encrypted field was altered")
    stream = b"".join(chacha_block(subkey, 1 + i, inner)
                      for i in range((len(ciphertext) + 63) // 64))
    return bytes(a ^ b for a, b in zip(ciphertext, stream))


P25519 = 2**255 - 19
ED_D = -121665 * pow(121666, -1, P25519) % P25519
ED_ORDER = 2**252 + 27742317777372353535851937790883648493


def x25519(secret, public):
    """RFC 7748."""
    scalar = int.from_bytes(secret, "little") & ~7 & ~(1 << 255) | 1 << 254
    u = int.from_bytes(public, "little") & ~(1 << 255)
    x2, z2, x3, z3 = 1, 0, u, 1
    for bit in reversed(range(255)):
        if scalar >> bit & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a, b * b, d * a, c * b
        e = aa - bb
        new = (aa * bb, e * (aa + 121665 * e), (da + cb) ** 2, u * (da - cb) ** 2)
        x2, z2, x3, z3 = (value % P25519 for value in new)
        if scalar >> bit & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, -1, P25519) % P25519).to_bytes(32, "little")


def ed_add(p, q):
    """Points of the Edwards curve as (X, Y, Z, T) with x = X/Z, y = Y/Z, x y = T/Z."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * ED_D * p[3] * q[3], 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return tuple(value % P25519 for value in (e * f, g * h, f * g, e * h))


def ed_multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = ed_add(result, point)
        point = ed_add(point, point)
        scalar >>= 1
    return result


def ed_point(encoded):
    value = int.from_bytes(encoded, "little")
    y, sign = value & ~(1 << 255), value >> 255
    square = (y * y - 1) * pow(ED_D * y * y + 1, -1, P25519) % P25519
    x = pow(square, (P25519 + 3) // 8, P25519)
    if x * x % P25519 != square:
        x = x * pow(2, (P25519 - 1) // 4, P25519) % P25519
    require(x * x % P25519 == square, "a public key or signature is not a point")
    if x & 1 != sign:
        x = P25519 - x
    return (x, y, 1, x * y % P25519)


def is_signed(public_key, message, signature):
    """Ed25519, RFC 8032."""
    base = ed_point((4 * pow(5, -1, P25519) % P25519).to_bytes(32, "little"))
    s = int.from_bytes(signature[32:], "little")
    challenge = hashlib.sha512(signature[:32] + public_key + message).digest()
    k = int.from_bytes(challenge, "little") % ED_ORDER
    left = ed_multiply(s, base)
    right = ed_add(ed_point(signature[:32]), ed_multiply(k, ed_point(public_key)))
    return (s < ED_ORDER and (left[0] * right[2] - right[0] * left[2]) % P25519 == 0
            and (left[1] * right[2] - right[1] * left[2]) % P25519 == 0)


# --- committee.md -----------------------------------------------------------------------------

SHARE_PRIME = 65521
DEGREE = 4096
CHECK_WORDS = 8


class Committee:
    """Sizes that follow from n, f and the packing."""

    def __init__(self, seats, corrupt, packing):
        self.seats, self.corrupt, self.packing = seats, corrupt, packing
        self.votes = (seats + corrupt) // 2 + 1
        require(packing in (1, self.votes - corrupt), "packing")
        self.threshold = corrupt + packing
        self.key_words = 2 * -(-2048 // packing)
        self.words = self.key_words + CHECK_WORDS
        self.share_bytes = 2 * self.words * (seats - corrupt)
        self.secret_points = [SHARE_PRIME - 1 - s for s in range(packing)]


def interpolation(points, target):
    """Factors that turn values at `points` into the value at `target`."""
    factors = []
    for j, at in enumerate(points):
        numerator = denominator = 1
        for i, other in enumerate(points):
            if i != j:
                numerator = numerator * (target - other) % SHARE_PRIME
                denominator = denominator * (at - other) % SHARE_PRIME
        factors.append(numerator * pow(denominator, -1, SHARE_PRIME) % SHARE_PRIME)
    return factors


def combine(factors, rows):
    return [sum(f * value for f, value in zip(factors, column)) % SHARE_PRIME
            for column in zip(*rows)]


def u16_words(data):
    words = list(struct.unpack(f"<{len(data) // 2}H", data))
    require(all(word < SHARE_PRIME for word in words), "a word is not below 65521")
    return words


def owner_bytes(attempt, client):
    return attempt["manifest_hash"] + struct.pack("<IQ", attempt["epoch"], client)


def pair_key(secrets, attempt, client, seat, listed):
    """The secrets are X25519's, ML-KEM's and the epoch key."""
    info = b"tacet/2/pair" + owner_bytes(attempt, client) + struct.pack("<I", seat) + listed
    return hkdf(b"".join(secrets), info, 32)


def read_packet(packet, seats, attempt, client, public_key):
    """The ciphertexts of a key packet, and the digest of its list."""
    owner = owner_bytes(attempt, client)
    require(packet[:6] == b"TCTk" + struct.pack("<H", 1), "another format")
    require(packet[6:50] == owner, "another owner")
    hashes, rest = packet[50:50 + 32 * seats], packet[50 + 32 * seats:]
    require(len(rest) == 64 + 1088 * seats, "length of a key packet")
    listed = b"tacet/1/key packet" + owner + hashes
    require(is_signed(public_key, listed, rest[:64]), "the client did not sign its key packet")
    ciphertexts = [rest[64 + 1088 * i:64 + 1088 * (i + 1)] for i in range(seats)]
    require(b"".join(map(sha256, ciphertexts)) == hashes, "a ciphertext without its hash")
    return ciphertexts, sha256(listed)


def encapsulate(coins, owner, seat, public_key):
    """A client's secrets for a seat: ML-KEM.Encaps_internal of FIPS 203."""
    message = hkdf(coins, b"tacet/1/key packet coins" + owner + struct.pack("<I", seat), 32)
    derived = hashlib.sha3_512(message + hashlib.sha3_256(public_key).digest()).digest()
    return kem_encrypt(public_key, message, derived[32:]), derived[:32]


def expand_mask(key, attempt, nonce, words):
    mask_key = hkdf(key, b"tacet/1/mask" + attempt_bytes(attempt) + nonce, 32)
    stream = aes_ctr(mask_key, bytes(16), 2 * words + 1024)
    kept = [w for w in struct.unpack(f"<{words + 512}H", stream) if w < SHARE_PRIME]
    return kept[:words]


def share_key(committee, key, random_secrets, masks):
    """The shares of the seats from f on, one after the other."""
    size = committee.key_words
    secrets = list(key) + [0] * (committee.packing * size - DEGREE)
    rows = [[k % SHARE_PRIME for k in secrets[s * size:(s + 1) * size]]
            + random_secrets[s * CHECK_WORDS:(s + 1) * CHECK_WORDS]
            for s in range(committee.packing)]
    rows += [[-word % SHARE_PRIME for word in masks[c]] for c in range(committee.corrupt)]
    points = committee.secret_points + [c + 1 for c in range(committee.corrupt)]
    shares = []
    for seat in range(committee.corrupt, committee.seats):
        values = combine(interpolation(points, seat + 1), rows)
        shares += [(v + m) % SHARE_PRIME for v, m in zip(values, masks[seat])]
    return shares


def recover_key_sum(committee, share_sums, unmask_shares):
    """The sum of the one-time keys, and the seats whose answers do not fit."""
    size, needed = committee.words, committee.threshold
    require(len(unmask_shares) >= needed, "too few unmask shares")
    values = {}
    for seat, mask_sums in unmask_shares.items():
        first = (seat - committee.corrupt) * size
        sums = share_sums[first:first + size] if seat >= committee.corrupt else [0] * size
        values[seat] = [(s - m) % SHARE_PRIME for s, m in zip(sums, mask_sums)]
    for wrong in range((len(values) - needed) // 2 + 1):
        for left_out in itertools.combinations(sorted(values), wrong):
            seats = [seat for seat in sorted(values) if seat not in left_out]
            points = [seat + 1 for seat in seats[:needed]]
            rows = [values[seat] for seat in seats[:needed]]
            if any(combine(interpolation(points, seat + 1), rows) != values[seat]
                   for seat in seats[needed:]):
                continue
            key_sum = []
            for point in committee.secret_points:
                key_sum += combine(interpolation(points, point), rows)[:committee.key_words]
            centred = [k - SHARE_PRIME if k > SHARE_PRIME // 2 else k for k in key_sum[:DEGREE]]
            return centred, list(left_out)
    raise Refused("the unmask shares do not fit together")


def check_factors(committee, round_hash):
    count = CHECK_WORDS * committee.key_words
    stream = aes_ctr(sha256(b"tacet/1/share check" + round_hash), bytes(16), 2 * count + 1024)
    kept = [w for w in struct.unpack(f"<{count + 512}H", stream) if w < SHARE_PRIME]
    return [kept[j * committee.key_words:(j + 1) * committee.key_words]
            for j in range(CHECK_WORDS)]


def combination(factors, words):
    """Eight words of one mask, or of the shares for one seat."""
    size = len(factors[0])
    return [(words[size + j] + sum(f * w for f, w in zip(factors[j], words))) % SHARE_PRIME
            for j in range(CHECK_WORDS)]


def shares_fit(committee, factors, shares, combinations):
    """Whether one client's shares are right, by the combinations of its masks at all seats."""
    values = []
    for seat in range(committee.seats):
        first = (seat - committee.corrupt) * committee.words
        of_share = [0] * CHECK_WORDS
        if seat >= committee.corrupt:
            of_share = combination(factors, shares[first:first + committee.words])
        values.append([(s - m) % SHARE_PRIME for s, m in zip(of_share, combinations[seat])])
    points = [seat + 1 for seat in range(committee.threshold)]
    return all(combine(interpolation(points, seat + 1), values[:committee.threshold])
               == values[seat] for seat in range(committee.threshold, committee.seats))


# --- messages.md ------------------------------------------------------------------------------

def attempt_bytes(attempt):
    return (attempt["manifest_hash"]
            + struct.pack("<III", attempt["epoch"], attempt["round"], attempt["attempt"])
            + attempt["model_digest"])


def attempt_key(epoch_key, name, attempt):
    info = (b"tacet/1/" + struct.pack("<I", len(name)) + name + attempt["manifest_hash"]
            + struct.pack("<BIII", 1, attempt["epoch"], attempt["round"], attempt["attempt"]))
    return hkdf(epoch_key, info, 32)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        require(self.at + size <= len(self.data), "a message is cut short")
        self.at += size
        return self.data[self.at - size:self.at]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def begin(self, magic, attempt, version=1):
        require(self.take(6) == magic + struct.pack("<H", version), "another format")
        require(self.take(76) == attempt_bytes(attempt), "another attempt")

    def end(self):
        require(self.at == len(self.data), "bytes after the end")


def read_upload(data, attempt, terms, ciphertext_bytes):
    reader = Reader(data)
    reader.begin(b"TCTU", attempt, 2)
    require(reader.take(10) == struct.pack("<BBQ", 1, 0, terms["dimension"]), "another scheme")
    nonce = reader.take(16)
    require(reader.u32() == ciphertext_bytes, "length of a ciphertext")
    ciphertext = reader.take(ciphertext_bytes)
    covered = data[:reader.at] + bytes(-reader.at % 4)
    words = struct.unpack(f"<{len(covered) // 4}I", covered)
    weighted = sum((len(words) - i) * word for i, word in enumerate(words))
    require(reader.take(16) == struct.pack("<2Q", (len(words) + sum(words)) % 2 ** 64,
                                           weighted % 2 ** 64), "checksum")
    reader.end()
    return nonce, ciphertext


def read_closed_round(data, attempt, terms, aggregated_ciphertext_bytes):
    reader = Reader(data)
    reader.begin(b"TCTC", attempt, 2)
    participants = reader.u32()
    require(terms["min_participants"] <= participants <= terms["max_participants"], "participants")
    nonces = [reader.take(16) for _ in range(participants)]
    require(all(a < b for a, b in zip(nonces, nonces[1:])), "nonces")
    digest = reader.take(32)
    head = data[6:reader.at]
    require(reader.u32() == aggregated_ciphertext_bytes, "length of the aggregated ciphertext")
    aggregated_ciphertext = reader.take(aggregated_ciphertext_bytes)
    reader.end()
    return {"nonces": nonces, "digest": digest, "aggregated_ciphertext": aggregated_ciphertext,
            "hash": sha256(b"tacet/2/closed round" + head + sha256(aggregated_ciphertext))}


def check_roster(data, attempt, closed_round):
    reader = Reader(data)
    reader.begin(b"TCTO", attempt, 2)
    require(reader.u32() == len(closed_round["nonces"]), "roster")
    salt, entries = reader.take(16), reader.take(40 * len(closed_round["nonces"]))
    reader.end()
    require(sha256(b"tacet/2/roster" + salt + entries) == closed_round["digest"], "roster digest")
    return [(member, digest) for member, digest in struct.iter_unpack("<Q32s", entries)]


def read_vote(data, attempt, committee_keys):
    reader = Reader(data)
    reader.begin(b"TCTV", attempt)
    seat, voted = reader.u32(), reader.take(32)
    signed = data[:reader.at]
    signature = reader.take(64)
    reader.end()
    require(seat < len(committee_keys) and is_signed(committee_keys[seat], signed, signature),
            "a vote is not signed by its seat")
    return seat, voted


def read_unmask_share(data, attempt, committee_keys, result_key):
    reader = Reader(data)
    reader.begin(b"TCT1", attempt)
    round_hash, seat = reader.take(32), reader.u32()
    box = reader.take(reader.u32())
    signed = data[:reader.at]
    signature = reader.take(64)
    reader.end()
    require(seat < len(committee_keys) and is_signed(committee_keys[seat], signed, signature),
            "an unmask share is not signed by its seat")
    associated = (b"tacet/1/unmask share" + attempt_bytes(attempt) + round_hash
                  + struct.pack("<I", seat))
    return seat, round_hash, u16_words(xchacha_open(result_key, box, associated))


# --- ciphertext.md ----------------------------------------------------------------------------

PRIMES = (1125625028935681, 1125625028755457)
ROOTS = (856596136628, 935425415354)
MODULUS = PRIMES[0] * PRIMES[1]
MOST_PARTICIPANTS = {9: 18, 10: 73, 11: 293, 12: 1175, 13: 4704, 14: 18820, 15: 75288,
                     16: 301163, 17: 1204672}


def read_check_row(data, attempt, committee_keys, participants):
    reader = Reader(data)
    reader.begin(b"TCT6", attempt)
    round_hash, seat = reader.take(32), reader.u32()
    require(reader.u32() == 2 * CHECK_WORDS * participants, "length of a check row")
    words = u16_words(reader.take(2 * CHECK_WORDS * participants))
    signed, signature = data[:reader.at], reader.take(64)
    reader.end()
    require(seat < len(committee_keys) and is_signed(committee_keys[seat], signed, signature),
            "a check row is not signed by its seat")
    return seat, round_hash, words


def smallest(function, low, high):
    """The smallest value of a function of log x that falls, then rises, by thirds."""
    for _ in range(300):
        third = (high - low) / 3
        if function(math.exp(low + third)) < function(math.exp(high - third)):
            high -= third
        else:
            low += third
    return function(math.exp(low))


class Mechanism:
    """Offset m and bound B, which follow from the agreement."""

    def __init__(self, terms):
        require(terms["sampler"] == 0, "sampler")
        self.scale, self.cohort = terms["scale"], terms["max_participants"]
        self.bound = min(terms["coordinate_bound"], terms["clip_norm"])
        self.share = terms["noise_stddev"] / math.sqrt(terms["noise_shares"])
        largest = math.sqrt(256 * math.log(2)) * (1 + 2 ** -44) * self.share
        self.offset = math.ceil((self.bound + largest) / self.scale) + 1
        level = 41 * math.log(2) + 1e-3 + math.log(terms["dimension"]) + math.log(terms["attempts"])

        def distance(step):  # theta s
            moment = self.log_moment(step, self.cohort, self.cohort * self.bound)
            return (level + moment) * self.scale / step

        self.sum_bound = math.ceil(smallest(distance, math.log(1e-12), math.log(300))
                                   * (1 + 1e-9) / self.scale)

    def log_moment(self, step, participants, most):
        """Of the sum's distance from its offset, where |sum of the updates' values| <= most."""
        # Less than 1e-12 of the series is lost.
        excess = (step * step * (1 / 2 + step / 6 + step ** 2 / 24 + step ** 3 / 120)
                  if step < 1e-3 else math.expm1(step) - step)
        factor = math.expm1(step) / self.scale
        return (most * factor + participants * self.share ** 2 * factor ** 2 / 2
                + participants * self.offset * excess)


class Packing:
    def __init__(self, terms, bound):
        self.bits = max(8, bound.bit_length() + 1, terms["plaintext_bits"])
        require(self.bits <= 49, "plaintext bits")
        self.scale = min(k for k, most in MOST_PARTICIPANTS.items()
                         if most >= terms["max_participants"])
        self.slots = 1
        while self.fits(self.slots + 1, bound):
            self.slots += 1
        self.coefficients = -(-terms["dimension"] // self.slots)

    def fits(self, slots, bound):
        ones = (2 ** (self.bits * slots) - 1) // (2 ** self.bits - 1)
        return (self.scale + self.bits * slots <= 100
                and 2 ** self.scale * bound * ones + 2 ** (self.scale - 1) <= (MODULUS - 1) // 2)

    def used_coefficients(self):
        """Of the payload polynomials, the MAC's last."""
        whole, rest = divmod(self.coefficients, DEGREE)
        return [DEGREE] * whole + [rest] * (rest > 0) + [MAC_WORDS]

    def payload_bytes(self):
        return 12 * sum(self.used_coefficients())

    def closed_payload_bytes(self):
        return 16 * sum(self.used_coefficients())


def add_ciphertexts(ciphertexts, packing):
    """The aggregated ciphertext."""
    payload, at = b"", 0
    for used in packing.used_coefficients():
        sums = [0] * used
        for ciphertext in ciphertexts:
            words = struct.unpack(f"<{3 * used}I", ciphertext[at:at + 12 * used])
            for i in range(used):
                kept = words[i] | words[used + i] << 32 | words[2 * used + i] << 64
                require(kept <= (MODULUS - 1) >> 4, "a coefficient is not canonical")
                sums[i] += kept << 4
        for prime in PRIMES:
            payload += struct.pack(f"<{used}Q", *(c % prime for c in sums))
        at += 12 * used
    shares = [u16_words(ciphertext[at:]) for ciphertext in ciphertexts]
    sums = [sum(column) % SHARE_PRIME for column in zip(*shares)]
    return payload + struct.pack(f"<{len(sums)}H", *sums)


def expand_uniform(seed, polynomial, prime, use):
    counter = struct.pack("<IBB", polynomial, prime, use) + bytes(10)
    stream = aes_ctr(seed, counter, 8 * DEGREE + 1024)
    words = (w & 2 ** 50 - 1 for w in struct.unpack(f"<{DEGREE + 128}Q", stream))
    return [w for w in words if w < PRIMES[prime]][:DEGREE]


def bit_reversed(i, bits=12):
    return int(format(i, f"0{bits}b")[::-1], 2)


def transform(values, root, prime):
    """[sum of values[i] root^(i e) for e = 0, 1, ...], root of order len(values)."""
    if len(values) == 1:
        return values
    even = transform(values[::2], root * root % prime, prime)
    odd = transform(values[1::2], root * root % prime, prime)
    power, low, high = 1, [], []
    for a, b in zip(even, odd):
        low.append((a + power * b) % prime)
        high.append((a - power * b) % prime)
        power = power * root % prime
    return low + high


def powers(base, prime):
    result = [1]
    for _ in range(DEGREE - 1):
        result.append(result[-1] * base % prime)
    return result


def product_with_uniform(ntt_form, small, index):
    """a times a small polynomial in Z_p[X]/(X^N + 1); entry i of a is its value at psi^(2 brv(i) + 1)."""
    prime, psi = PRIMES[index], ROOTS[index]
    twisted = [k * f % prime for k, f in zip(small, powers(psi, prime))]
    values = transform(twisted, psi * psi % prime, prime)  # at psi^(2 e + 1), e = 0, 1, ...
    pointwise = [0] * DEGREE
    for i, a in enumerate(ntt_form):
        e = bit_reversed(i)
        pointwise[e] = a * values[e] % prime
    inverse = pow(psi, -1, prime)
    back = transform(pointwise, inverse * inverse % prime, prime)
    factor = pow(DEGREE, -1, prime)
    return [x * f % prime * factor % prime for x, f in zip(back, powers(inverse, prime))]


def compose(residue0, residue1):
    difference = (residue1 - residue0) * pow(PRIMES[0], -1, PRIMES[1]) % PRIMES[1]
    return residue0 + PRIMES[0] * difference


def centred(x):
    x %= MODULUS
    return x - MODULUS if x > (MODULUS - 1) // 2 else x


def decrypt_payload(payload, key_sum, participants, dimension, offset, packing, public_seed):
    """The sums of counts, and those of the MAC's words."""
    sums, words, at = [], [], 0
    for j, used in enumerate(packing.used_coefficients()):
        residues = []
        for index, prime in enumerate(PRIMES):
            residues.append(struct.unpack(f"<{used}Q", payload[at:at + 8 * used]))
            require(all(w < prime for w in residues[index]), "payload is not canonical")
            at += 8 * used
        products = [product_with_uniform(expand_uniform(public_seed, j, index, 1), key_sum, index)
                    for index in range(2)]
        for i in range(used):
            phase = compose((residues[0][i] - products[0][i]) % PRIMES[0],
                            (residues[1][i] - products[1][i]) % PRIMES[1]) + 15 * participants // 2
            if j == len(packing.used_coefficients()) - 1:
                words.append((phase % MODULUS + PRIMES[1] // 2) // PRIMES[1] % PRIMES[0])
                continue
            values = min(packing.slots, dimension - len(sums))
            known = 2 ** packing.scale * sum(participants * offset << packing.bits * l
                                             for l in range(values))
            m = (centred(phase - known) + 2 ** (packing.scale - 1)) >> packing.scale
            for _ in range(values):
                slot = m & (2 ** packing.bits - 1)
                if slot >= 2 ** (packing.bits - 1):
                    slot -= 2 ** packing.bits
                sums.append(max(0, slot + participants * offset))
                m = (m - slot) >> packing.bits
    return sums, words


# --- mac.md -----------------------------------------------------------------------------------

MAC_WORDS = 3


def mac_of_sum(tag_key, context, sums, nonces):
    columns, rows = min(len(sums), 4096), -(-len(sums) // 4096)
    stream = aes_ctr(hkdf(tag_key, b"tacet/1/he/tag coefficients", 32), bytes(16),
                     8 * MAC_WORDS * (columns + rows))
    numbers = struct.unpack(f"<{len(stream) // 8}Q", stream)
    mask_keys = hkdf(hkdf(tag_key, b"tacet/1/he/tag mask", 32), context, 32 * MAC_WORDS)
    words = []
    for word in range(MAC_WORDS):
        own = numbers[word * (columns + rows):(word + 1) * (columns + rows)]
        total = sum(own[columns + i // 4096] * own[i % 4096] * value
                    for i, value in enumerate(sums))
        key = mask_keys[32 * word:32 * word + 32]
        for nonce in nonces:
            total += int.from_bytes(aes_block(key, nonce), "little")
        words.append(total % PRIMES[0])
    return words


# --- a member's decryption --------------------------------------------------------------------

def check_limits(x, participants, terms, mechanism):
    scale, d = mechanism.scale, terms["dimension"]
    norm = participants * terms["clip_norm"]
    most = min(participants * mechanism.bound, norm)
    level = 42 * math.log(2) + math.log(terms["attempts"])

    def moment(step):  # theta s: theta U + psi(theta)
        return mechanism.log_moment(step, participants, most)

    def distance(step):
        return (moment(step) + level + math.log(2 * d)) * scale / step

    coordinate = smallest(distance, math.log(1e-12), math.log(300))
    variance = (participants * mechanism.share ** 2
                + scale * (participants * scale * mechanism.offset + most))
    theta = coordinate / variance + 10 / math.sqrt(variance)
    v = 2 * (moment(theta * scale) - most * theta) / theta ** 2
    square = norm ** 2 + v * (d + 2 * math.sqrt((d + 2 * norm ** 2 / v) * level) + 2 * level)
    require(max(map(abs, x)) <= coordinate * (1 + 1e-9), "a coordinate is too large")
    require(sum(value * value for value in x) <= min(square, d * coordinate ** 2) * (1 + 1e-9),
            "the norm is too large")


def decrypt_round(vectors):
    terms = vectors["terms"]
    attempt = read_attempt(vectors["attempt"])
    epoch_key = bytes.fromhex(vectors["epoch_key"])
    keys = [bytes.fromhex(seat["signing_key"]) for seat in vectors["committee"]]
    committee = Committee(terms["seats"], terms["corrupt"], terms["packing"])
    mechanism = Mechanism(terms)
    packing = Packing(terms, mechanism.sum_bound)
    uploads = [read_upload(bytes.fromhex(upload), attempt, terms,
                           packing.payload_bytes() + committee.share_bytes)
               for upload in vectors["uploads"]]
    closed = read_closed_round(bytes.fromhex(vectors["closed_round"]), attempt, terms,
                               packing.closed_payload_bytes() + committee.share_bytes)
    require(sorted(nonce for nonce, _ in uploads) == closed["nonces"]
            and add_ciphertexts([ciphertext for _, ciphertext in uploads], packing)
            == closed["aggregated_ciphertext"], "the closed round is not that of the uploads")
    roster = check_roster(bytes.fromhex(vectors["roster"]), attempt, closed)
    lists = {entry["member"]: bytes.fromhex(entry["list"]) for entry in vectors["lists"]}
    require(dict(roster) == lists, "lists of key packets")
    members = [member for member, _ in roster]
    require(len(set(members)) == len(members), "a member is in the roster twice")
    votes = readable(vectors["votes"], lambda vote: read_vote(vote, attempt, keys))
    agreeing = {seat for seat, voted in votes if voted == closed["hash"]}
    require(len(agreeing) >= committee.votes, "too few votes")
    result_key = attempt_key(epoch_key, b"result", attempt)
    unmask_shares = {}
    for seat, round_hash, words in readable(
            vectors["unmask_shares"],
            lambda share: read_unmask_share(share, attempt, keys, result_key)):
        if round_hash == closed["hash"] and len(words) == committee.words:
            unmask_shares.setdefault(seat, words)
    rows = [read_check_row(bytes.fromhex(row), attempt, keys, len(closed["nonces"]))
            for row in vectors["check_rows"]]
    require(all(row[:2] == (seat, closed["hash"]) for seat, row in enumerate(rows)), "check rows")
    payload = closed["aggregated_ciphertext"][:packing.closed_payload_bytes()]
    share_sums = u16_words(closed["aggregated_ciphertext"][packing.closed_payload_bytes():])
    key_sum, wrong_seats = recover_key_sum(committee, share_sums, unmask_shares)
    public_seed = sha256(b"tacet/1/public seed" + attempt["manifest_hash"]
                         + struct.pack("<II", attempt["epoch"], attempt["round"]))
    participants = len(closed["nonces"])
    sums, words = decrypt_payload(payload, key_sum, participants, terms["dimension"],
                                  mechanism.offset, packing, public_seed)
    expected = mac_of_sum(attempt_key(epoch_key, b"tag", attempt), attempt_bytes(attempt), sums,
                          closed["nonces"])
    require(words == expected, "the MAC does not fit")
    values = [mechanism.scale * (value - participants * mechanism.offset) for value in sums]
    check_limits(values, participants, terms, mechanism)
    return sums, values, wrong_seats


def readable(messages, read):
    """The readable ones of several messages; the others do not count."""
    result = []
    for message in messages:
        try:
            result.append(read(bytes.fromhex(message)))
        except Refused:
            pass
    return result


def read_attempt(fields):
    attempt = dict(fields)
    for name in ("manifest_hash", "model_digest"):
        attempt[name] = bytes.fromhex(attempt[name])
    return attempt


# --- committee.json ---------------------------------------------------------------------------

def expect_list(described, values, code, what):
    data = struct.pack(f"<{len(values)}{code}", *values)
    expect(described["length"] == len(values) and described["first"] == list(values[:4])
           and described["last"] == list(values[-4:])
           and described["sha256"] == sha256(data).hex(), what)


def expect(condition, what):
    if not condition:
        sys.exit(f"the vectors and the pages disagree about {what}")


def check_committee(vectors):
    shape = vectors["committee"]
    committee = Committee(shape["seats"], shape["corrupt"], shape["packing"])
    expect((committee.votes, committee.threshold, committee.words)
           == (shape["votes"], shape["threshold"], shape["mask_words"]), "sizes")
    attempt = read_attempt(vectors["attempt"])
    factors = check_factors(committee, bytes.fromhex(vectors["round_hash"]))
    epoch_key = bytes.fromhex(vectors["epoch_key"])
    basepoint = (9).to_bytes(32, "little")
    share_sums, key_sum = [0] * (committee.share_bytes // 2), [0] * DEGREE
    mask_sums = [[0] * committee.words for _ in range(committee.seats)]
    for client in vectors["clients"]:
        secret, nonce = bytes.fromhex(client["exchange_secret"]), bytes.fromhex(client["nonce"])
        expect(x25519(secret, basepoint).hex() == client["exchange_public"], "a public key")
        masks, owner = [], owner_bytes(attempt, client["member"])
        ciphertexts, listed = read_packet(
            bytes.fromhex(client["packet"]), committee.seats, attempt, client["member"],
            bytes.fromhex(client["signing_public"]))
        expect(listed.hex() == client["list"], "the digest of a packet's list")
        for seat, (pair, other) in enumerate(zip(client["pairs"], vectors["seats"])):
            seed = bytes.fromhex(other["kem_seed"])
            shared = kem_decapsulate(seed, ciphertexts[seat])
            expect(shared.hex() == pair["shared"], "a secret of ML-KEM")
            expect((ciphertexts[seat], shared)
                   == encapsulate(bytes.fromhex(client["coins"]), owner, seat,
                                  kem_key(seed[:32])[0]), "what a client makes for a seat")
            agreed = x25519(secret, bytes.fromhex(other["exchange_public"]))
            expect(agreed.hex() == pair["agreed"], "an agreed secret")
            expect(agreed == x25519(bytes.fromhex(other["exchange_secret"]),
                                    bytes.fromhex(client["exchange_public"])), "its other end")
            key = pair_key((agreed, shared, epoch_key), attempt, client["member"], seat, listed)
            expect(key.hex() == pair["pair_key"], "a pair key")
            masks.append(expand_mask(key, attempt, nonce, committee.words))
            expect_list(pair["mask"], masks[-1], "H", "a mask")
            mask_sums[seat] = [(a + b) % SHARE_PRIME for a, b in zip(mask_sums[seat], masks[-1])]
            expect(pair["combination"] == combination(factors, masks[-1]), "a combination")
        one_time_key = [(i * i + client["member"]) % 43 - 21 for i in range(DEGREE)]
        expect_list(client["key"], one_time_key, "b", "a one-time key")
        random_secrets = [(4096 * i + client["member"]) % SHARE_PRIME
                          for i in range(CHECK_WORDS * committee.packing)]
        shares = share_key(committee, one_time_key, random_secrets, masks)
        expect_list(client["shares"], shares, "H", "shares")
        combinations = [pair["combination"] for pair in client["pairs"]]
        expect(shares_fit(committee, factors, shares, combinations), "the check of shares")
        for place in (0, committee.key_words - 1, len(shares) - 1):
            wrong = list(shares)
            wrong[place] = (wrong[place] + 1) % SHARE_PRIME
            expect(not shares_fit(committee, factors, wrong, combinations), "a wrong share")
        share_sums = [(a + b) % SHARE_PRIME for a, b in zip(share_sums, shares)]
        key_sum = [a + b for a, b in zip(key_sum, one_time_key)]
    expect_list(vectors["share_sums"], share_sums, "H", "the sum of the shares")
    for seat, words in zip(vectors["seats"], mask_sums):
        expect_list(seat["mask_sum"], words, "H", "an unmask share")
    for seats in itertools.combinations(range(committee.seats), committee.threshold):
        recovered, wrong = recover_key_sum(committee, share_sums,
                                           {seat: mask_sums[seat] for seat in seats})
        expect(recovered == key_sum and not wrong, "the recovery")
    expect_list(vectors["key_sum"], key_sum, "i", "the sum of the keys")


def check_refusals(vectors):
    """Altered rounds are refused, so the checks above are at work."""
    def altered(name, change):
        copy = json.loads(json.dumps(vectors))
        change(copy[name])
        try:
            decrypt_round({**vectors, name: copy[name]})
        except Refused:
            return
        sys.exit(f"a round with altered {name} was not refused")

    def flip(messages, number, place):
        for i in range(number):
            message = bytearray(bytes.fromhex(messages[i]))
            message[place] ^= 1
            messages[i] = bytes(message).hex()

    altered("votes", lambda votes: votes.__delitem__(slice(4, None)))
    altered("votes", lambda votes: flip(votes, 3, -1))
    altered("unmask_shares", lambda shares: shares.__delitem__(slice(0, 2)))
    altered("unmask_shares", lambda shares: flip(shares, 1, 200))
    altered("check_rows", lambda rows: flip(rows, 1, 150))
    altered("committee", lambda seats: seats.reverse())
    altered("uploads", lambda uploads: flip(uploads, 1, -20))
    altered("attempt", lambda attempt: attempt.update(round=attempt["round"] + 1))


def main(closed_round_file, committee_file):
    with open(closed_round_file, encoding="ascii") as file:
        vectors = json.load(file)
    sums, values, wrong_seats = decrypt_round(vectors)
    expect(sums == vectors["sums"], "the sums of the counts")
    expect(all(abs(a - b) < 1e-12 for a, b in zip(values, vectors["values"])), "the values")
    expect(wrong_seats == vectors["wrong_seats"], "the wrong seats")
    check_refusals(vectors)
    with open(committee_file, encoding="ascii") as file:
        check_committee(json.load(file))
    print(f"decrypted {len(sums)} sums; wrong seats: {wrong_seats}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
