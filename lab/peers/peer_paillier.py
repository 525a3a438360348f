"""python-paillier: additively homomorphic encryption, one ciphertext a value."""

from __future__ import annotations

import importlib.metadata
import sys

import numpy as np
from peer_measure import SCALE, report, seconds, updates, wrong_values
from phe import paillier

VALUES = 12  # encrypted of each update; times and bytes are multiplied up to the dimension


def main(dimension: int, clients: int, held: int) -> None:
    public, secret = paillier.generate_paillier_keypair()  # 3072 bits
    own = np.rint(updates(held, dimension)[:, :VALUES].astype(float) / SCALE).astype(int)
    factor = dimension / VALUES
    protect_s, upload = seconds(lambda: [public.encrypt(int(x)) for x in own[0]])
    uploads = [upload] + [[public.encrypt(int(x)) for x in update] for update in own[1:]]
    add_s, total = seconds(lambda: [sum(column[1:], column[0]) for column in zip(*uploads)])
    decrypt_s, sums = seconds(lambda: [secret.decrypt(x) for x in total])
    wrong, error = wrong_values(np.array(sums) * SCALE, own.sum(0) * SCALE)
    value_bytes = (upload[0].ciphertext(be_secure=False).bit_length() + 7) // 8
    report({
        "name": "python-paillier", "version": importlib.metadata.version("phe"),
        "protect_s": protect_s * factor, "add_s": add_s * factor * (clients - 1) / (held - 1),
        "decrypt_s": decrypt_s * factor,
        "upload_bytes": round(value_bytes * dimension),
        "download_bytes": round(value_bytes * dimension),
        "wrong_values": wrong, "largest_error": error, "measured_clients": held,
        "measured_values": VALUES,
        "reads_update": "the holder of the secret key",
        "drop_outs": "any: a sum of those that came",
        "noise_inside": "no",
        "reasons": {"epsilon": "it has no differential privacy",
                    "memory_mb": "a fraction of an update was held"},
        "memory_mb": None,
    })


if __name__ == "__main__":
    main(*(int(x) for x in sys.argv[1:4]))
