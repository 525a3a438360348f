#include "tacet/agreement/initial_model.h"

#include <algorithm>
#include <utility>

#include "tacet/base/float_bytes.h"
#include "tacet/base/status.h"
#include "tacet/secagg/digest_key.h"

namespace tacet::agreement {

InitialModel InitialModel::WithFreshSalt(std::vector<float> parameters, crypto::Entropy& entropy) {
  InitialModel model{.parameters = std::move(parameters)};
  std::ranges::copy(entropy.Draw(kSaltBytes).Expose(), model.salt.begin());
  return model;
}

crypto::Digest InitialModel::Digest() const {
  return secagg::DigestKey(crypto::SecretBytes::CopyOf(salt)).OfModel(parameters);
}

base::Bytes WriteInitialModel(const InitialModel& model) {
  base::ByteWriter writer;
  writer.Reserve(InitialModel::kSaltBytes + sizeof(float) * model.parameters.size());
  writer.Raw(model.salt);
  writer.Raw(base::FloatBytes(model.parameters));
  return writer.Take();
}

absl::StatusOr<InitialModel> ReadInitialModel(std::span<const uint8_t> bytes) {
  if (bytes.size() < InitialModel::kSaltBytes ||
      (bytes.size() - InitialModel::kSaltBytes) % sizeof(float) != 0) {
    return base::DataLoss("initial model: {} bytes are not a salt of {} and parameters of {} each",
                          bytes.size(), InitialModel::kSaltBytes, sizeof(float));
  }
  InitialModel model;
  std::ranges::copy(bytes.first(InitialModel::kSaltBytes), model.salt.begin());
  model.parameters = base::FloatsOf(bytes.subspan(InitialModel::kSaltBytes));
  return model;
}

}  // namespace tacet::agreement
