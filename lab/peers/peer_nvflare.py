"""NVFLARE homomorphic encryption: its filters and its aggregator, with the recipe's parameters."""

import logging
import pathlib
import sys
import tempfile

import numpy as np
import nvflare
import tenseal as ts
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.fl_constant import FLContextKey, ReservedKey
from nvflare.apis.fl_context import FLContext
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_opt.he.intime_accumulate_model_aggregator import (
    HEInTimeAccumulateWeightedAggregator,
)
from nvflare.app_opt.he.model_decryptor import HEModelDecryptor
from nvflare.app_opt.he.model_encryptor import HEModelEncryptor
from nvflare.fuel.sec.security_content_service import SecurityContentService
from nvflare.fuel.utils import fobs
from peer_measure import report, seconds, updates, wrong_values


def context(name: str) -> FLContext:
    made = FLContext()
    made.set_prop(FLContextKey.SECURE_MODE, False, private=False, sticky=False)
    made.set_prop(ReservedKey.IDENTITY_NAME, name, private=False, sticky=False)
    made.set_prop(AppConstants.CURRENT_ROUND, 0, private=False, sticky=False)
    return made


def main(dimension: int, clients: int, held: int) -> None:
    logging.disable(logging.CRITICAL)
    # As nvflare.lighter.impl.he.HEBuilder provisions it.
    keys = ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=[60, 40, 40],
                      encryption_type=ts.ENCRYPTION_TYPE.SYMMETRIC)
    keys.generate_relin_keys()
    keys.global_scale = 2**40
    own = updates(held, dimension)
    with tempfile.TemporaryDirectory() as folder:
        for name, secret in (("client", True), ("server", False)):
            (pathlib.Path(folder) / f"{name}_context.tenseal").write_bytes(
                keys.serialize(save_public_key=secret, save_secret_key=secret,
                               save_galois_keys=False, save_relin_keys=True))
        SecurityContentService.initialize(folder)

        def protect(client: int) -> bytes:
            own_context = context(f"site-{client}")
            own_context.set_peer_context(context("server"))
            dxo = DXO(DataKind.WEIGHT_DIFF, data={"update": own[client]})
            encrypted = encryptor.process_dxo(dxo, dxo.to_shareable(), own_context)
            return fobs.dumps(encrypted.to_shareable())

        encryptor = HEModelEncryptor(encrypt_layers=".*", weigh_by_local_iter=False)
        protect(0)
        protect_s, _ = seconds(lambda: protect(0), 2)
        uploads = [protect(client) for client in range(held)]
        server = context("server")

        def add() -> bytes:
            aggregator = HEInTimeAccumulateWeightedAggregator(weigh_by_local_iter=False)
            aggregator.handle_event("_start_run", server)
            for client, upload in enumerate(uploads):
                shareable = fobs.loads(upload)
                shareable.set_peer_props({ReservedKey.IDENTITY_NAME: f"site-{client}"})
                shareable.add_cookie(AppConstants.CONTRIBUTION_ROUND, 0)
                if not aggregator.accept(shareable, server):
                    raise RuntimeError("the aggregator refused an update")
            return fobs.dumps(aggregator.aggregate(server))

        add_s, closed = seconds(add)
        decryptor = HEModelDecryptor()

        def decrypt() -> np.ndarray:
            shareable = fobs.loads(closed)
            dxo = decryptor.process_dxo(from_shareable(shareable), shareable, context("site-0"))
            return np.asarray(dxo.data["update"]) * held

        decrypt_s, total = seconds(decrypt)
    wrong, error = wrong_values(total[:dimension], own.astype(float).sum(0))
    report({
        "name": "NVFLARE HE (TenSEAL)", "version": nvflare.__version__,
        "protect_s": protect_s, "add_s": add_s / held * clients, "decrypt_s": decrypt_s,
        "upload_bytes": len(uploads[0]), "download_bytes": len(closed),
        "wrong_values": wrong, "largest_error": error, "measured_clients": held,
        "measured_values": dimension,
        "reads_update": "every client, and the server with one of them: they share one key",
        "drop_outs": "any: a sum of those that came",
        "noise_inside": "no",
        "reasons": {"epsilon": "its HE recipe has no differential privacy"},
    })


if __name__ == "__main__":
    main(*(int(x) for x in sys.argv[1:4]))
