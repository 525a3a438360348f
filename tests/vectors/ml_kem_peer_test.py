#!/usr/bin/env python3
"""ML-KEM-768 against another implementation: Python's package `cryptography` (48 or later).

Both make the same keys, and each opens what the other one sends, altered ciphertexts too. Without
that package, or with one without ML-KEM, it ends with code 77: skipped.

usage: ml_kem_peer_test.py PROGRAM, of tacet/crypto/ml_kem_program_for_test.cc
"""
import secrets
import subprocess
import sys

CASES = 40


def main():
    try:
        from cryptography.hazmat.primitives.asymmetric import mlkem
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    with subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:

        def ask(what, *values):
            line = " ".join([what] + [value.hex() for value in values])
            program.stdin.write(line + "\n")
            program.stdin.flush()
            return [bytes.fromhex(word) for word in program.stdout.readline().split()]

        for case in range(CASES):
            seed = secrets.token_bytes(64)
            other = mlkem.MLKEM768PrivateKey.from_seed_bytes(seed)
            public = other.public_key()
            public_bytes = public.public_bytes_raw()
            assert ask("key", seed) == [public_bytes], "another public key"

            ciphertext, shared = ask("send", public_bytes, secrets.token_bytes(32))
            assert other.decapsulate(ciphertext) == shared, "another secret of ours"
            shared, ciphertext = public.encapsulate()
            assert ask("receive", seed, ciphertext) == [shared], "another secret of theirs"

            altered = bytearray(ciphertext)
            altered[secrets.randbelow(len(altered))] ^= 1 << secrets.randbelow(8)
            rejected = other.decapsulate(bytes(altered))
            assert rejected != shared
            assert ask("receive", seed, bytes(altered)) == [rejected], "another rejection"
        program.stdin.close()
        assert program.wait() == 0
    print(f"{CASES} keys: the same values")
    return 0


if __name__ == "__main__":
    sys.exit(main())
