// Keys of members and epochs in Python.
#include <string>

#include "nanobind/nanobind.h"
#include "nanobind/operators.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"
#include "tacet/keys.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// A bytearray, which the caller can overwrite; `bytes` could not be wiped.
template <typename Key>
nb::bytearray SecretOf(const Key& key) {
  nb::bytearray secret;
  secret.resize(Key::kSecretBytes);
  key.ExposeTo(std::span<uint8_t, Key::kSecretBytes>(static_cast<uint8_t*>(secret.data()),
                                                     Key::kSecretBytes));
  return secret;
}

// Made from bytes or a bytearray.
template <typename Key>
Key FromSecret(nb::handle secret) {
  if (nb::isinstance<nb::bytes>(secret)) {
    return ValueOrThrow(Key::FromSecret(SpanOf(nb::borrow<nb::bytes>(secret))));
  }
  if (nb::isinstance<nb::bytearray>(secret)) {
    const auto array = nb::borrow<nb::bytearray>(secret);
    return ValueOrThrow(Key::FromSecret({static_cast<const uint8_t*>(array.data()), array.size()}));
  }
  throw nb::type_error("the secret must be bytes or a bytearray: give what expose_secret returned");
}

template <typename Key>
nb::class_<Key> BindSecret(nb::module_& module, const char* name, const char* text) {
  const std::string signature =
      std::string("def from_secret(secret: bytes | bytearray) -> ") + name;
  auto bound =
      nb::class_<Key>(module, name, text)
          .def_static("generate", &Key::Generate, "A key from fresh bytes of the system.")
          .def_static("from_secret", &FromSecret<Key>, "secret"_a, nb::sig(signature.c_str()),
                      "The key whose bytes expose_secret() gave.")
          .def("expose_secret", &SecretOf<Key>,
               "The secret bytes, for storage under encryption. Overwrite them afterwards.")
          .def(
              "__reduce__",
              [name](const Key& /*key*/) -> nb::object {
                throw nb::type_error(
                    (std::string(name) +
                     " is not pickled or copied, since it holds a secret: store expose_secret() "
                     "under encryption")
                        .c_str());
              },
              nb::sig("def __reduce__(self) -> typing.NoReturn"));
  bound.attr("SECRET_BYTES") = Key::kSecretBytes;
  return bound;
}

}  // namespace

void BindKeys(nb::module_& module) {
  nb::class_<MemberPublicKey>(module, "MemberPublicKey", "Public keys by which a member is known.")
      .def(
          "__init__",
          [](MemberPublicKey* key, const nb::bytes& signing, const nb::bytes& exchange,
             const nb::bytes& kem) {
            new (key) MemberPublicKey{.signing = FixedBytesOf<32>(signing, "signing"),
                                      .exchange = FixedBytesOf<32>(exchange, "exchange"),
                                      .kem = FixedBytesOf<1184>(kem, "kem")};
          },
          "signing"_a, "exchange"_a, "kem"_a)
      .def_prop_ro(
          "signing", [](const MemberPublicKey& key) { return BytesOf(key.signing); },
          "Ed25519, 32 bytes: verifies votes and unmask shares.")
      .def_prop_ro(
          "exchange", [](const MemberPublicKey& key) { return BytesOf(key.exchange); },
          "X25519, 32 bytes: gives a key for each client and committee seat.")
      .def_prop_ro(
          "kem", [](const MemberPublicKey& key) { return BytesOf(key.kem); },
          "ML-KEM-768, 1184 bytes: so does it, and quantum computers do not help.")
      .def(
          "__reduce__",
          [](const nb::object& self) {
            return nb::make_tuple(
                self.type(),
                nb::make_tuple(self.attr("signing"), self.attr("exchange"), self.attr("kem")));
          },
          nb::sig("def __reduce__(self) -> tuple[object, ...]"))
      .def("__hash__",
           [](const MemberPublicKey& key) {
             return nb::hash(
                 nb::make_tuple(BytesOf(key.signing), BytesOf(key.exchange), BytesOf(key.kem)));
           })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));

  BindSecret<MemberKey>(module, "MemberKey", "Secret keys of one member for one epoch.")
      .def_prop_ro("public_key", [](const MemberKey& key) { return key.public_key(); });
  BindSecret<EpochKey>(module, "EpochKey",
                       "Secret that all members of an epoch share and the server must never see.")
      .def(
          "initial_model_digest",
          [](const EpochKey& key, nb::handle model) {
            const std::vector<float> values = FloatsOf(model, "model");
            return BytesOf(WithoutLock([&] { return key.InitialModelDigest(values); }));
          },
          "model"_a, nb::sig("def initial_model_digest(self, model: object) -> bytes"),
          "Names the model with which a federation begins, for an agreement's context: 32 "
          "bytes.\n\n"
          "HMAC-SHA256 of its values as little-endian float32, under a key that follows from this\n"
          "one. The server may see it, and cannot confirm guesses of the model.");
}

}  // namespace tacet::python
