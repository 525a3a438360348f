// Labelled samples of many data owners, held in memory.
#ifndef TACET_DATA_DATASET_H_
#define TACET_DATA_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"

namespace tacet::data {

// In place of the values of a sample that could not be read: NaN.
inline constexpr float kUnreadable = std::numeric_limits<float>::quiet_NaN();

// Largest class that a file may name by its number.
inline constexpr uint32_t kMaxLabel = (uint32_t{1} << 20) - 1;

// Unchecked data set from a reader.
struct DatasetSpec {
  std::string name;                   // for messages: a file, a folder, "handwriting"
  std::vector<uint64_t> input_shape;  // of one sample: {height, width} of an image, {n} of a row
  // Row-major, one row of `input_size` values a sample. Bytes are images: 0 = background,
  // 255 = ink; a model sees value / 255. Floats are seen as they are, and a sample whose values are
  // all kUnreadable is one that could not be read.
  std::variant<std::vector<uint8_t>, std::vector<float>> features;
  std::vector<uint32_t> labels;           // a class in [0, classes) for every sample
  std::vector<uint32_t> sample_clients;   // an index into `client_names` for every sample
  std::vector<std::string> client_names;  // a client may have no sample
  uint32_t classes = 0;
  // A number for every sample that says which person it is from, where that is known; else empty.
  // One number at two clients is one person.
  std::vector<uint32_t> sample_persons = {};
};

// Immutable, checked samples. Rows stay where the file had them; a client's rows need not be
// neighbours there, `rows(client)` is its list.
class Dataset {
 public:
  // InvalidArgument when sizes disagree, a label or a client is out of range, a float of a sample
  // that can be read is not finite, or there is no client, class or feature at all.
  static absl::StatusOr<Dataset> Create(DatasetSpec spec);

  const std::string& name() const { return spec_.name; }
  uint64_t samples() const { return spec_.labels.size(); }  // also those that cannot be read
  // Whether a sample can be read. One that cannot keeps its place among the others, contributes
  // nothing to a model, and is not evaluated.
  bool is_readable(uint64_t row) const;
  uint64_t readable_samples() const;
  uint64_t clients() const { return spec_.client_names.size(); }
  uint32_t classes() const { return spec_.classes; }
  const std::vector<uint64_t>& input_shape() const { return spec_.input_shape; }
  uint64_t input_size() const { return input_size_; }
  const std::string& client_name(uint64_t client) const { return spec_.client_names[client]; }
  uint32_t label(uint64_t row) const { return spec_.labels[row]; }
  const std::vector<uint32_t>& labels() const { return spec_.labels; }
  bool has_persons() const { return !spec_.sample_persons.empty(); }
  uint32_t person(uint64_t row) const { return spec_.sample_persons[row]; }

  // The rows of one client, in the order of the file.
  std::span<const uint32_t> rows(uint64_t client) const {
    return std::span(rows_).subspan(first_row_[client],
                                    first_row_[client + 1] - first_row_[client]);
  }

  // True when the features are bytes, in which case pixels() holds them.
  bool has_pixels() const { return std::holds_alternative<std::vector<uint8_t>>(spec_.features); }
  std::span<const uint8_t> pixels(uint64_t row) const {
    return std::span(*std::get_if<std::vector<uint8_t>>(&spec_.features))
        .subspan(row * input_size_, input_size_);
  }

  const std::variant<std::vector<uint8_t>, std::vector<float>>& features() const {
    return spec_.features;
  }

  // Writes what a model sees of a row: bytes / 255, floats unchanged, zeros for a row that cannot
  // be read. input.size() == input_size().
  void CopyInput(uint64_t row, std::span<float> input) const;

 private:
  explicit Dataset(DatasetSpec spec) : spec_(std::move(spec)) {}

  DatasetSpec spec_;
  uint64_t input_size_ = 0;
  std::vector<uint32_t> rows_;     // grouped by client, stable
  std::vector<size_t> first_row_;  // client o has rows_[first_row_[o] .. first_row_[o + 1])
};

// The samples of `count` clients spread evenly over all M of them, those numbered floor(i M /
// count), i < count, in the same order: a file that is sorted by where its clients come from keeps
// its mixture. InvalidArgument unless 1 <= count <= M.
absl::StatusOr<Dataset> SpreadClients(const Dataset& dataset, uint64_t count);

// The same samples at `sites` clients, "site-0", ...: every client becomes a person, and persons go
// to sites in an order that depends on `seed` only, as evenly as their number allows.
// InvalidArgument for no site or more sites tha clients.
absl::StatusOr<Dataset> SpreadOverSites(const Dataset& dataset, uint64_t sites, uint64_t seed);

// The chosen clients, in this order, each with the chosen rows of its own; the result is called
// `name`.
struct ChosenRows {
  uint64_t client = 0;
  std::vector<uint32_t> rows;
};
absl::StatusOr<Dataset> SelectRows(const Dataset& dataset, std::span<const ChosenRows> chosen,
                                   std::string name);

// SHA-256 over shape, classes, clients' names, labels, each client's rows, features and persons
// where they are known: the same for the same samples in the same order, wherever they were read
// from. It stays in memory: anyone who knows all samples but one could confirm a guess of the last.
// The value that is kept or sent is federation::KeyedDataDigest of it.
crypto::Digest DatasetDigest(const Dataset& dataset);

// The accuracy of always answering the most frequent class, in [0, 1]; 0 without samples that can
// be read.
double MostFrequentClassShare(const Dataset& dataset);

}  // namespace tacet::data

#endif  // TACET_DATA_DATASET_H_
