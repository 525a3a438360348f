#include "tacet/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"

namespace tacet::data {
namespace {

uint64_t FeatureCount(const DatasetSpec& spec) {
  return std::visit([](const auto& values) -> uint64_t { return values.size(); }, spec.features);
}

absl::Status CheckSpec(const DatasetSpec& spec, uint64_t input_size) {
  const uint64_t samples = spec.labels.size();
  if (samples > std::numeric_limits<uint32_t>::max()) {
    return base::InvalidArgument("{}: {} samples are more than 2^32 - 1", spec.name, samples);
  }
  if (spec.client_names.empty()) {
    return base::InvalidArgument("{}: there is no data owner", spec.name);
  }
  if (spec.classes == 0) return base::InvalidArgument("{}: there is no class", spec.name);
  if (spec.sample_clients.size() != samples) {
    return base::InvalidArgument("{}: {} labels but clients of {} samples", spec.name, samples,
                                 spec.sample_clients.size());
  }
  if (!spec.sample_persons.empty() && spec.sample_persons.size() != samples) {
    return base::InvalidArgument("{}: {} labels but persons of {} samples", spec.name, samples,
                                 spec.sample_persons.size());
  }
  const uint64_t features = FeatureCount(spec);
  if (features % input_size != 0 || features / input_size != samples) {
    return base::InvalidArgument("{}: {} feature values are not {} samples of {}", spec.name,
                                 features, samples, input_size);
  }
  for (uint64_t row = 0; row < samples; ++row) {
    if (spec.labels[row] >= spec.classes) {
      return base::InvalidArgument("{}: sample {} has label {}, there are {} classes", spec.name,
                                   row, spec.labels[row], spec.classes);
    }
    if (spec.sample_clients[row] >= spec.client_names.size()) {
      return base::InvalidArgument("{}: sample {} belongs to client {}, there are {} clients",
                                   spec.name, row, spec.sample_clients[row],
                                   spec.client_names.size());
    }
  }
  if (const auto* values = std::get_if<std::vector<float>>(&spec.features)) {
    for (uint64_t row = 0; row < samples; ++row) {
      const auto own = std::span(*values).subspan(row * input_size, input_size);
      if (std::ranges::all_of(own, [](float value) { return std::isnan(value); })) continue;
      const auto bad = std::ranges::find_if(own, [](float value) { return !std::isfinite(value); });
      if (bad == own.end()) continue;
      return base::InvalidArgument("{}: feature {} of sample {} is not a finite number", spec.name,
                                   bad - own.begin(), row);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dataset> Dataset::Create(DatasetSpec spec) {
  uint64_t input_size = spec.input_shape.empty() ? 0 : 1;
  for (const uint64_t extent : spec.input_shape) {
    if (extent != 0 && input_size > std::numeric_limits<uint32_t>::max() / extent) {
      return base::InvalidArgument("{}: a sample has more than 2^32 - 1 features", spec.name);
    }
    input_size *= extent;
  }
  if (input_size == 0) return base::InvalidArgument("{}: samples have no features", spec.name);
  TACET_RETURN_IF_ERROR(CheckSpec(spec, input_size));

  Dataset dataset(std::move(spec));
  dataset.input_size_ = input_size;
  // Counting sort by client.
  const std::vector<uint32_t>& clients = dataset.spec_.sample_clients;
  dataset.first_row_.assign(dataset.clients() + 1, 0);
  for (const uint32_t client : clients) ++dataset.first_row_[client + size_t{1}];
  for (uint64_t client = 0; client < dataset.clients(); ++client) {
    dataset.first_row_[client + 1] += dataset.first_row_[client];
  }
  dataset.rows_.resize(clients.size());
  std::vector<size_t> next(dataset.first_row_.begin(), dataset.first_row_.end() - 1);
  for (size_t row = 0; row < clients.size(); ++row) {
    dataset.rows_[next[clients[row]]++] = static_cast<uint32_t>(row);
  }
  dataset.spec_.sample_clients = {};
  return dataset;
}

bool Dataset::is_readable(uint64_t row) const {
  const auto* values = std::get_if<std::vector<float>>(&spec_.features);
  return values == nullptr || !std::isnan((*values)[row * input_size_]);
}

uint64_t Dataset::readable_samples() const {
  uint64_t count = 0;
  for (uint64_t row = 0; row < samples(); ++row) count += is_readable(row) ? 1 : 0;
  return count;
}

void Dataset::CopyInput(uint64_t row, std::span<float> input) const {
  if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&spec_.features)) {
    const uint8_t* from = bytes->data() + row * input_size_;
    for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(from[i]) / 255.0f;
    return;
  }
  if (!is_readable(row)) {
    std::ranges::fill(input, 0.0f);
    return;
  }
  const auto& values = *std::get_if<std::vector<float>>(&spec_.features);
  std::copy_n(values.begin() + static_cast<ptrdiff_t>(row * input_size_), input.size(),
              input.begin());
}

absl::StatusOr<Dataset> SpreadOverSites(const Dataset& dataset, uint64_t sites, uint64_t seed) {
  if (sites < 1 || sites > dataset.clients()) {
    return base::InvalidArgument("{}: {} sites for {} clients, expected 1 to {}", dataset.name(),
                                 sites, dataset.clients(), dataset.clients());
  }
  DatasetSpec spec{.name = dataset.name(),
                   .input_shape = dataset.input_shape(),
                   .features = dataset.features(),
                   .labels = dataset.labels(),
                   .sample_clients = std::vector<uint32_t>(dataset.samples()),
                   .client_names = {},
                   .classes = dataset.classes(),
                   .sample_persons = std::vector<uint32_t>(dataset.samples())};
  for (uint64_t site = 0; site < sites; ++site) {
    spec.client_names.push_back(fmt::format("site-{}", site));
  }
  std::vector<uint32_t> order(dataset.clients());
  std::iota(order.begin(), order.end(), uint32_t{0});
  crypto::Random random = crypto::SeededRandom(seed, "sites");
  crypto::Shuffle(random, order);
  for (uint32_t place = 0; place < order.size(); ++place) {
    for (const uint32_t row : dataset.rows(order[place])) {
      spec.sample_clients[row] = static_cast<uint32_t>(place % sites);
      spec.sample_persons[row] = order[place];
    }
  }
  return Dataset::Create(std::move(spec));
}

absl::StatusOr<Dataset> SelectRows(const Dataset& dataset, std::span<const ChosenRows> chosen,
                                   std::string name) {
  DatasetSpec spec{.name = std::move(name),
                   .input_shape = dataset.input_shape(),
                   .features = {},
                   .labels = {},
                   .sample_clients = {},
                   .client_names = {},
                   .classes = dataset.classes(),
                   .sample_persons = {}};
  const auto copy = [&](const auto& from) {
    std::decay_t<decltype(from)> features;
    for (const ChosenRows& own : chosen) {
      for (const uint32_t row : own.rows) {
        const auto first = from.begin() + static_cast<ptrdiff_t>(row * dataset.input_size());
        features.insert(features.end(), first,
                        first + static_cast<ptrdiff_t>(dataset.input_size()));
      }
    }
    spec.features = std::move(features);
  };
  std::visit(copy, dataset.features());
  for (const ChosenRows& own : chosen) {
    for (const uint32_t row : own.rows) {
      spec.labels.push_back(dataset.label(row));
      spec.sample_clients.push_back(static_cast<uint32_t>(spec.client_names.size()));
      if (dataset.has_persons()) spec.sample_persons.push_back(dataset.person(row));
    }
    spec.client_names.push_back(dataset.client_name(own.client));
  }
  return Dataset::Create(std::move(spec));
}

absl::StatusOr<Dataset> SpreadClients(const Dataset& dataset, uint64_t count) {
  if (count < 1 || count > dataset.clients()) {
    return base::InvalidArgument("{} clients of {} were asked for, it has {}", count,
                                 dataset.name(), dataset.clients());
  }
  std::vector<ChosenRows> chosen;
  for (uint64_t i = 0; i < count; ++i) {
    // No product of the two: either may be large.
    const uint64_t client =
        i * (dataset.clients() / count) + i * (dataset.clients() % count) / count;
    const std::span<const uint32_t> rows = dataset.rows(client);
    chosen.push_back({client, {rows.begin(), rows.end()}});
  }
  return SelectRows(dataset, chosen,
                    fmt::format("{} ({} of {} clients)", dataset.name(), count, dataset.clients()));
}

crypto::Digest DatasetDigest(const Dataset& dataset) {
  base::ByteWriter writer;
  writer.U32(dataset.classes());
  writer.U64(dataset.input_shape().size());
  for (const uint64_t extent : dataset.input_shape()) writer.U64(extent);
  writer.U64(dataset.clients());
  for (uint64_t client = 0; client < dataset.clients(); ++client) {
    writer.Blob(dataset.client_name(client));
    writer.U64(dataset.rows(client).size());
  }
  writer.U64(dataset.samples());
  writer.U8(dataset.has_pixels() ? 1 : 0);
  crypto::Sha256Hasher hasher;
  hasher.Update(writer.bytes());
  const auto add = [&hasher](const auto& values) {
    hasher.Update(
        {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof *values.data()});
  };
  add(dataset.labels());
  for (uint64_t client = 0; client < dataset.clients(); ++client) {
    if (const auto rows = dataset.rows(client); !rows.empty()) add(rows);
  }
  std::visit(add, dataset.features());
  if (dataset.has_persons()) {
    for (uint64_t row = 0; row < dataset.samples(); ++row) {
      uint8_t number[4];
      base::StoreU32(dataset.person(row), number);
      hasher.Update(number);
    }
  }
  return hasher.Finish();
}

double MostFrequentClassShare(const Dataset& dataset) {
  const uint64_t samples = dataset.readable_samples();
  if (samples == 0) return 0;
  std::vector<uint64_t> count(dataset.classes(), 0);
  for (uint64_t row = 0; row < dataset.samples(); ++row) {
    if (dataset.is_readable(row)) ++count[dataset.label(row)];
  }
  return static_cast<double>(*std::ranges::max_element(count)) / static_cast<double>(samples);
}

}  // namespace tacet::data
