"""TenSEAL: CKKS with the parameters of NVFLARE's homomorphic encryption."""

from __future__ import annotations

import sys

import numpy as np
import tenseal as ts
from peer_measure import report, seconds, updates, wrong_values

DEGREE, MODULI, SCALE_BITS = 8192, [60, 40, 40], 40


def main(dimension: int, clients: int, held: int) -> None:
    secret = ts.context(ts.SCHEME_TYPE.CKKS, DEGREE, -1, MODULI)
    secret.global_scale = 2**SCALE_BITS
    public = secret.copy()
    public.make_context_public()
    slots = DEGREE // 2
    own = updates(held, dimension)

    def protect(update: np.ndarray) -> list[bytes]:
        return [ts.ckks_vector(secret, update[i:i + slots]).serialize()
                for i in range(0, dimension, slots)]

    protect_s, upload = seconds(lambda: protect(own[0]), 2)
    uploads = [upload] + [protect(update) for update in own[1:]]

    def add() -> list:
        total = [ts.ckks_vector_from(public, part) for part in uploads[0]]
        for other in uploads[1:]:
            for i, part in enumerate(other):
                total[i] += ts.ckks_vector_from(public, part)
        return [part.serialize() for part in total]

    add_s, closed = seconds(add)

    def decrypt() -> np.ndarray:
        parts = [ts.ckks_vector_from(secret, part).decrypt() for part in closed]
        return np.concatenate([np.array(part) for part in parts])

    decrypt_s, total = seconds(decrypt, 2)
    wrong, error = wrong_values(total, own.astype(float).sum(0))
    report({
        "name": "TenSEAL CKKS", "version": ts.__version__,
        "protect_s": protect_s, "add_s": add_s / held * clients, "decrypt_s": decrypt_s,
        "upload_bytes": sum(map(len, upload)), "download_bytes": sum(map(len, closed)),
        "wrong_values": wrong, "largest_error": error, "measured_clients": held,
        "measured_values": dimension,
        "reads_update": "every client, and the server with one of them: they share one key",
        "drop_outs": "any: a sum of those that came",
        "noise_inside": "no",
        "reasons": {"epsilon": "it has no differential privacy"},
    })


if __name__ == "__main__":
    main(*(int(x) for x in sys.argv[1:4]))
