"""OpenFHE: CKKS with a key pair that the clients share, 128-bit parameters chosen by the library."""

import importlib.metadata
import sys

import numpy as np
import openfhe
from peer_measure import report, seconds, updates, wrong_values

SLOTS = 4096


def main(dimension: int, clients: int, held: int) -> None:
    parameters = openfhe.CCParamsCKKSRNS()
    parameters.SetMultiplicativeDepth(1)
    parameters.SetScalingModSize(40)
    parameters.SetBatchSize(SLOTS)
    context = openfhe.GenCryptoContext(parameters)
    context.Enable(openfhe.PKESchemeFeature.PKE)
    context.Enable(openfhe.PKESchemeFeature.LEVELEDSHE)
    keys = context.KeyGen()
    own = updates(held, dimension)

    def protect(update: np.ndarray) -> list[bytes]:
        return [openfhe.Serialize(context.Encrypt(
            keys.publicKey,
            context.MakeCKKSPackedPlaintext(update[i:i + SLOTS].astype(float).tolist())),
            openfhe.BINARY) for i in range(0, dimension, SLOTS)]

    protect_s, upload = seconds(lambda: protect(own[0]), 2)
    uploads = [upload] + [protect(update) for update in own[1:]]

    def add() -> list[bytes]:
        total = [openfhe.DeserializeCiphertextString(part, openfhe.BINARY) for part in uploads[0]]
        for other in uploads[1:]:
            for i, part in enumerate(other):
                total[i] = context.EvalAdd(
                    total[i], openfhe.DeserializeCiphertextString(part, openfhe.BINARY))
        return [openfhe.Serialize(part, openfhe.BINARY) for part in total]

    add_s, closed = seconds(add)

    def decrypt() -> np.ndarray:
        parts = []
        for part in closed:
            plain = context.Decrypt(
                openfhe.DeserializeCiphertextString(part, openfhe.BINARY), keys.secretKey)
            plain.SetLength(SLOTS)
            parts.append(np.array(plain.GetRealPackedValue())[:SLOTS])
        return np.concatenate(parts)[:dimension]

    decrypt_s, total = seconds(decrypt, 2)
    wrong, error = wrong_values(total, own.astype(float).sum(0))
    report({
        "name": "OpenFHE CKKS", "version": importlib.metadata.version("openfhe"),
        "protect_s": protect_s, "add_s": add_s / held * clients, "decrypt_s": decrypt_s,
        "upload_bytes": sum(map(len, upload)), "download_bytes": sum(map(len, closed)),
        "wrong_values": wrong, "largest_error": error, "measured_clients": held,
        "measured_values": dimension,
        "reads_update": "the holder of the secret key",
        "drop_outs": "any: a sum of those that came",
        "noise_inside": "no",
        "reasons": {"epsilon": "it has no differential privacy"},
    })


if __name__ == "__main__":
    main(*(int(x) for x in sys.argv[1:4]))
