// Secrets at rest in Python: encrypted under a passphrase or a key file (docs/formats/keys.md).
#include <optional>
#include <string>
#include <utility>

#include "nanobind/nanobind.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"
#include "tacet/crypto/locked_secret.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

crypto::Unlocker UnlockerOf(const std::optional<nb::bytes>& passphrase,
                            const std::optional<nb::bytes>& key) {
  if (passphrase.has_value() == key.has_value()) {
    throw nb::value_error("give either a passphrase or a key file, and not both");
  }
  crypto::SecretBytes secret = crypto::SecretBytes::CopyOf(SpanOf(passphrase ? *passphrase : *key));
  return ValueOrThrow(passphrase ? crypto::Unlocker::FromPassphrase(std::move(secret))
                                 : crypto::Unlocker::FromKeyFile(std::move(secret)));
}

}  // namespace

void BindLockedSecrets(nb::module_& module) {
  module.def(
      "lock_secret",
      [](const nb::bytearray& secret, const std::string& purpose,
         const std::optional<nb::bytes>& passphrase, const std::optional<nb::bytes>& key) {
        const crypto::Unlocker unlocker = UnlockerOf(passphrase, key);
        const crypto::SecretBytes copy = crypto::SecretBytes::CopyOf(
            {static_cast<const uint8_t*>(secret.data()), secret.size()});
        return BytesOf(ValueOrThrow(WithoutLock([&] {
          crypto::SystemEntropy entropy;
          return crypto::LockSecret(copy, purpose, unlocker, entropy);
        })));
      },
      "secret"_a, "purpose"_a, nb::kw_only(), "passphrase"_a = nb::none(), "key"_a = nb::none(),
      nb::sig(
          "def lock_secret(secret: bytearray, purpose: str, *, passphrase: bytes | None = None, "
          "key: bytes | None = None) -> bytes"),
      "The secret, encrypted under a passphrase (Argon2id) or the content of a key file.\n\n"
      "`purpose` names the secret and is bound to the bytes.");
  module.def(
      "unlock_secret",
      [](const nb::bytes& locked, const std::string& purpose,
         const std::optional<nb::bytes>& passphrase, const std::optional<nb::bytes>& key) {
        const crypto::Unlocker unlocker = UnlockerOf(passphrase, key);
        const crypto::SecretBytes secret = ValueOrThrow(
            WithoutLock([&] { return crypto::UnlockSecret(SpanOf(locked), purpose, unlocker); }));
        const std::span<const uint8_t> content = secret.Expose();
        return nb::bytearray(content.data(), content.size());
      },
      "locked"_a, "purpose"_a, nb::kw_only(), "passphrase"_a = nb::none(), "key"_a = nb::none(),
      nb::sig("def unlock_secret(locked: bytes, purpose: str, *, passphrase: bytes | None = None, "
              "key: bytes | None = None) -> bytearray"),
      "The secret of lock_secret(); overwrite it after use.");
}

}  // namespace tacet::python
