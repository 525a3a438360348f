#!/usr/bin/env python3
"""Independent reader of hybrid boxes, written from docs/formats/enrolment.md and the standards alone.

It shares no code with the library and needs Python's standard library alone. It expands the reader's
secrets (RFC 7748, FIPS 203), compares its public keys, opens the box of tests/vectors/hybrid_box.json,
and fails where a value is another one or an altered box opens. It is slow and not constant-time.

usage: open_hybrid_box.py HYBRID_BOX_JSON
"""
import hashlib
import hmac
import json
import struct
import sys


# --- X25519 (RFC 7748) ------------------------------------------------------------------------

P = 2 ** 255 - 19


def x25519(scalar, point):
    k = int.from_bytes(scalar, "little")
    k = k & ~(7 | 1 << 255) & (1 << 255) - 1 | 1 << 254
    u = int.from_bytes(point, "little") % 2 ** 255
    x2, z2, x3, z3 = 1, 0, u, 1
    for bit in range(254, -1, -1):
        swap = k >> bit & 1
        if swap:
            x2, x3, z2, z3 = x3, x2, z3, z2
        a, b = x2 + z2, x2 - z2
        aa, bb = a * a, b * b
        e = aa - bb
        da, cb = (x3 - z3) * a, (x3 + z3) * b
        x3, z3 = (da + cb) ** 2 % P, u * (da - cb) ** 2 % P
        x2, z2 = aa * bb % P, e * (aa + 121665 * e) % P
        if swap:
            x2, x3, z2, z3 = x3, x2, z3, z2
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


BASE = (9).to_bytes(32, "little")


# --- ML-KEM-768 (FIPS 203) --------------------------------------------------------------------

Q, N, K = 3329, 256, 3


def reversed_bits(i):
    return int(f"{i:07b}"[::-1], 2)


ZETAS = [pow(17, reversed_bits(i), Q) for i in range(128)]
GAMMAS = [pow(17, 2 * reversed_bits(i) + 1, Q) for i in range(128)]


def ntt(f):
    f, i, length = list(f), 1, 128
    while length >= 2:
        for start in range(0, N, 2 * length):
            for j in range(start, start + length):
                t = ZETAS[i] * f[j + length] % Q
                f[j + length], f[j] = (f[j] - t) % Q, (f[j] + t) % Q
            i += 1
        length //= 2
    return f


def inverse_ntt(f):
    f, i, length = list(f), 127, 2
    while length <= 128:
        for start in range(0, N, 2 * length):
            for j in range(start, start + length):
                t = f[j]
                f[j] = (t + f[j + length]) % Q
                f[j + length] = ZETAS[i] * (f[j + length] - t) % Q
            i -= 1
        length *= 2
    return [x * 3303 % Q for x in f]


def multiply(f, g):
    h = []
    for i in range(128):
        a0, a1, b0, b1 = f[2 * i], f[2 * i + 1], g[2 * i], g[2 * i + 1]
        h += [(a0 * b0 + a1 * b1 * GAMMAS[i]) % Q, (a0 * b1 + a1 * b0) % Q]
    return h


def add(*polynomials):
    return [sum(values) % Q for values in zip(*polynomials)]


def inner(row, vector):
    return add(*[multiply(f, g) for f, g in zip(row, vector)])


def encode(bits, f):
    number = sum(x << bits * i for i, x in enumerate(f))
    return number.to_bytes(32 * bits, "little")


def decode(bits, data):
    number = int.from_bytes(data, "little")
    return [number >> bits * i & (1 << bits) - 1 for i in range(N)]


def compress(bits, f):
    return [((x << bits) * 2 + Q) // (2 * Q) % (1 << bits) for x in f]


def decompress(bits, f):
    return [(2 * Q * y + (1 << bits)) >> bits + 1 for y in f]


def uniform(seed):
    stream, values = hashlib.shake_128(seed).digest(3 * 1000), []
    for i in range(0, len(stream), 3):
        a, b, c = stream[i:i + 3]
        values += [v for v in (a + 256 * (b % 16), b // 16 + 16 * c) if v < Q]
    return values[:N]


def binomial(seed, counter):
    bits = int.from_bytes(hashlib.shake_256(seed + bytes([counter])).digest(128), "little")

    def bit(i):
        return bits >> i & 1

    return [(bit(4 * i) + bit(4 * i + 1) - bit(4 * i + 2) - bit(4 * i + 3)) % Q for i in range(N)]


def matrix_of(rho):
    return [[uniform(rho + bytes([j, i])) for j in range(K)] for i in range(K)]


def kem_key(d):
    """The public key and the secret vector, transformed."""
    seeds = hashlib.sha3_512(d + bytes([K])).digest()
    rho, sigma = seeds[:32], seeds[32:]
    s = [ntt(binomial(sigma, i)) for i in range(K)]
    e = [ntt(binomial(sigma, K + i)) for i in range(K)]
    t = [add(inner(row, s), e[i]) for i, row in enumerate(matrix_of(rho))]
    return b"".join(encode(12, f) for f in t) + rho, s


def kem_encrypt(public, message, coins):
    t = [decode(12, public[384 * i:384 * (i + 1)]) for i in range(K)]
    matrix = matrix_of(public[384 * K:])
    y = [ntt(binomial(coins, i)) for i in range(K)]
    e1 = [binomial(coins, K + i) for i in range(K)]
    u = [add(inverse_ntt(inner([matrix[j][i] for j in range(K)], y)), e1[i]) for i in range(K)]
    v = add(inverse_ntt(inner(t, y)), binomial(coins, 2 * K),
            decompress(1, decode(1, message)))
    return b"".join(encode(10, compress(10, f)) for f in u) + encode(4, compress(4, v))


def kem_decapsulate(seed, ciphertext):
    public, s = kem_key(seed[:32])
    u = [ntt(decompress(10, decode(10, ciphertext[320 * i:320 * (i + 1)]))) for i in range(K)]
    v = decompress(4, decode(4, ciphertext[320 * K:]))
    product = inverse_ntt(inner(s, u))
    message = encode(1, compress(1, [(a - b) % Q for a, b in zip(v, product)]))
    derived = hashlib.sha3_512(message + hashlib.sha3_256(public).digest()).digest()
    if kem_encrypt(public, message, derived[32:]) == ciphertext:
        return derived[:32]
    return hashlib.shake_256(seed[32:] + ciphertext).digest(32)


# --- XChaCha20-Poly1305 (RFC 8439, draft-irtf-cfrg-xchacha-03) ---------------------------------

def chacha_block(key, words, add_start):
    start = list(struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<8I", key)) + words
    x = list(start)

    def quarter(a, b, c, d):
        for p, q, r, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) % 2 ** 32
            mixed = x[r] ^ x[p]
            x[r] = (mixed << turn | mixed >> 32 - turn) % 2 ** 32

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    if add_start:
        x = [(a + b) % 2 ** 32 for a, b in zip(x, start)]
    return struct.pack("<16I", *x)


def aead_open(key, nonce, sealed):
    """The plaintext without associated data, or None."""
    block = chacha_block(key, list(struct.unpack("<4I", nonce[:16])), False)
    key = block[:16] + block[48:]
    words = [0] + list(struct.unpack("<2I", nonce[16:]))
    stream = b"".join(chacha_block(key, [i] + words, True) for i in range(len(sealed) // 64 + 2))
    text, tag = sealed[:-16], sealed[-16:]
    r = int.from_bytes(stream[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff
    padded = text + bytes(-len(text) % 16) + struct.pack("<QQ", 0, len(text))
    total = 0
    for i in range(0, len(padded), 16):
        total = (total + int.from_bytes(padded[i:i + 16] + b"\1", "little")) * r % (2 ** 130 - 5)
    total = (total + int.from_bytes(stream[16:32], "little")) % 2 ** 128
    if not hmac.compare_digest(total.to_bytes(16, "little"), tag):
        return None
    return bytes(a ^ b for a, b in zip(text, stream[64:]))


# --- hybrid box (docs/formats/enrolment.md) ----------------------------------------------------

def hkdf_32(key, info):
    """HKDF-SHA256 of RFC 5869 with an empty salt, one block."""
    extracted = hmac.new(bytes(32), key, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\1", hashlib.sha256).digest()


def open_box(box, encryption_seed, kem_seed, context):
    scalar = hashlib.sha512(encryption_seed).digest()[:32]  # as crypto_box_seed_keypair
    ciphertext, sender = box[:1088], box[1088:1120]
    secrets = x25519(scalar, sender) + kem_decapsulate(kem_seed, ciphertext)
    transcript = ciphertext + sender + x25519(scalar, BASE) + kem_key(kem_seed[:32])[0] + context
    key = hkdf_32(secrets, b"tacet/1/hybrid box" + hashlib.sha256(transcript).digest())
    return aead_open(key, bytes(24), box[1120:])


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        vector = json.load(file)
    value = {name: bytes.fromhex(text) for name, text in vector.items() if name != "about"}
    scalar = hashlib.sha512(value["encryption_seed"]).digest()[:32]
    assert x25519(scalar, BASE) == value["encryption_key"]
    assert kem_key(value["kem_seed"][:32])[0] == value["kem_key"]
    context = (b"tacet/1/encrypted epoch key" + value["manifest_hash"] +
               struct.pack("<IQ", 3, 5))

    def opened(box, in_context=context):
        return open_box(box, value["encryption_seed"], value["kem_seed"], in_context)

    assert opened(value["box"]) == value["message"], "the box holds something else"
    for place in (0, 1087, 1088, 1120, 1167):
        altered = bytearray(value["box"])
        altered[place] ^= 1
        assert opened(bytes(altered)) is None, f"a box with another byte {place} opens"
    assert opened(value["box"], context[:-8] + bytes(8)) is None, "another member's box opens"
    print("the box opens, and no altered one does")


if __name__ == "__main__":
    main()
