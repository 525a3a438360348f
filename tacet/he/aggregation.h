// Additively homomorphic aggregation. Participants encrypt vectors of counts, anyone can add the
// ciphertexts, and the key of the sum decrypts the sum and nothing else.
#ifndef TACET_HE_AGGREGATION_H_
#define TACET_HE_AGGREGATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/parallel.h"
#include "tacet/crypto/secret.h"
#include "tacet/he/key_sharing.h"
#include "tacet/he/tag.h"
#include "tacet/he/word_sums.h"

namespace tacet::he {

// Encryption scheme of counts. The numbers are part of the formats and never change.
enum class Scheme : uint8_t {
  // Key-additive homomorphic encryption (KAHE) of the payload under a one-time key, and shares of
  // that key for a committee (key_sharing.h); several values a coefficient.
  kCompact = 1,
  // BFV at the published size (N = 8192, one value a coefficient), public-key encryption.
  kPaperPublicKey = 2,
  // The same with secret-key encryption whose uniform half travels as a 32-byte seed.
  kPaperSecretKey = 3,
};

// "compact", "paper", "paper-secret-key".
std::string_view SchemeName(Scheme scheme);

// Unchecked parameters from a caller. With K' <= max_participants counts vectors, the i-th sum lies
// in [K' offset - sum_bound, K' offset + sum_bound] for every i, or it comes out wrong.
struct AggregationSpec {
  Scheme scheme = Scheme::kCompact;
  uint64_t dimension = 0;         // d, values a vector, 1..2^32
  uint32_t max_participants = 0;  // K, 1..1048575
  uint64_t offset = 0;            // |mu| / s: the count at zero, < 2^32
  uint64_t sum_bound = 0;         // B >= 1: |sum of counts - K' offset| <= B
  // w, the bits of a centred sum: B <= 2^(w-1) - 1. 0 takes the smallest that holds B; a larger one
  // only wastes room (benchmarks at a given size).
  uint32_t plaintext_bits = 0;
  // Scheme compact: the committee that gets the shares of one-time keys. The paper's schemes have
  // none: anyone who holds the group secret decrypts.
  CommitteeShape committee{.seats = 5, .corrupt = 2};
};

// Checked parameters: with them the decrypted sum is exact but for a probability below 2^-80 a
// coefficient, and RLWE has 128 bits of security by the cited tables. Immutable.
class AggregationParams {
 public:
  // InvalidArgument names the field that is out of range, or the quantity (participants, bound,
  // bits a value) that is too large to be held exactly, with its value and the largest possible.
  static absl::StatusOr<AggregationParams> Create(const AggregationSpec& spec);

  Scheme scheme() const { return spec_.scheme; }
  uint64_t dimension() const { return spec_.dimension; }
  uint32_t max_participants() const { return spec_.max_participants; }
  uint64_t offset() const { return spec_.offset; }
  uint64_t sum_bound() const { return spec_.sum_bound; }

  // Scheme compact: with its packing.
  const CommitteeShape& committee() const { return spec_.committee; }

  // w: sums are decoded centred in [-2^(w-1), 2^(w-1) - 1] around K' offset.
  uint32_t plaintext_bits() const { return spec_.plaintext_bits; }
  // No sum that comes out of the decryption of K' ciphertexts is above K' offset + 2^(w-1).
  uint64_t LargestSum(uint32_t participants) const {
    return participants * spec_.offset + (uint64_t{1} << (spec_.plaintext_bits - 1));
  }
  // L: values that share a coefficient; 1 for the paper's schemes.
  uint32_t slots() const { return slots_; }
  // kappa: a plaintext is scaled by 2^kappa. 0 for the paper's schemes, which scale by (Q - 1)/2^w.
  uint32_t scale_bits() const { return scale_bits_; }
  // N: coefficients of a ring element.
  uint64_t ring_degree() const { return ring_degree_; }
  // Coefficients that carry values, ceil(d / L).
  uint64_t used_coefficients() const { return used_coefficients_; }
  // Payload polynomials, ceil(used_coefficients / N).
  uint64_t polynomials() const { return polynomials_; }
  // Values that a payload polynomial carries, N L; the last one may carry fewer.
  uint64_t values_per_polynomial() const { return ring_degree_ * slots_; }
  // log2 of the ciphertext modulus Q.
  double log2_modulus() const { return log2_modulus_; }

  // The exact length of every ciphertext and of every aggregated ciphertext.
  size_t ciphertext_bytes() const { return ciphertext_bytes_; }
  size_t aggregated_ciphertext_bytes() const { return aggregated_ciphertext_bytes_; }
  // Part of `ciphertext_bytes` and of `aggregated_ciphertext_bytes`, at their ends, with shares of
  // one-time keys; 0 for the paper's schemes.
  size_t share_bytes() const { return sharing_.has_value() ? sharing_->share_bytes() : 0; }
  // The sharing of one-time keys. Scheme compact only.
  const KeySharing& sharing() const { return *sharing_; }
  // Words of masks that a seal takes: n (B + 8); 0 for the paper's schemes.
  size_t mask_words() const {
    return sharing_.has_value() ? sharing_->shape().seats * sharing_->mask_words() : 0;
  }

  // Predicted variance of the payload's error (phase minus scaled plaintext) that one upload adds
  // to a coefficient of the sum.
  double noise_variance_per_upload() const { return noise_variance_per_upload_; }

 private:
  AggregationParams() = default;
  absl::Status PlanCompact();
  absl::Status PlanPaper();

  AggregationSpec spec_;
  uint32_t slots_ = 1;
  uint32_t scale_bits_ = 0;
  uint64_t ring_degree_ = 0;
  uint64_t used_coefficients_ = 0;
  uint64_t polynomials_ = 0;
  double log2_modulus_ = 0;
  size_t ciphertext_bytes_ = 0;
  size_t aggregated_ciphertext_bytes_ = 0;
  std::optional<KeySharing> sharing_;
  double noise_variance_per_upload_ = 0;
};

// Secrets of one seal. They must never meet two different vectors.
struct SealSecrets {
  // 32 fresh bytes. All randomness of the encryption, and the public seed in the ciphertext, come
  // from them by HKDF under distinct labels.
  const crypto::SecretBytes& key;
  // AggregationParams::mask_words() words below p, seat after seat (key_sharing.h).
  std::span<const uint16_t> masks = {};
};

// One vector and its MAC on their way into a ciphertext.
class Encryption {
 public:
  virtual ~Encryption() = default;

  // The next values_per_polynomial() counts (any u32), or all that are left; aborts on another
  // number.
  virtual void Append(std::span<const uint32_t> counts) = 0;
  // After all counts, once: the tag. Aborts at another time.
  virtual void Finish(const Tag& tag) = 0;
};

// A participant's side. Immutable and thread-safe: buffers belong to the call.
class Encryptor {
 public:
  virtual ~Encryptor() = default;

  // Begins a ciphertext in `ciphertext`, ciphertext_bytes() long, which is complete when it is
  // finished; `ciphertext` and this object must outlive the encryption. The time taken does
  // not depend on counts, tag or secrets. InvalidArgument: wrong length of key, masks or
  // ciphertext.
  virtual absl::StatusOr<std::unique_ptr<Encryption>> Begin(
      const SealSecrets& secrets, std::span<uint8_t> ciphertext) const = 0;

  // Encrypts all counts (counts.size() == dimension) and their tag at once; `ciphertext` is
  // resized, so a caller that keeps it reuses its memory. InvalidArgument: wrong number of counts,
  // wrong length of a secret; `ciphertext` is then unchanged.
  absl::Status Encrypt(std::span<const uint32_t> counts, const Tag& tag, const SealSecrets& secrets,
                       base::Bytes& ciphertext) const;

 protected:
  explicit Encryptor(const AggregationParams& params) : params_(params) {}
  const AggregationParams& params() const { return params_; }

 private:
  AggregationParams params_;
};

// A ciphertext that is to be added, and what its words amount to if its sender said so.
struct Contribution {
  std::span<const uint8_t> ciphertext;
  std::optional<WordSums> announced;
};

// The server's side; it needs no key. Not thread-safe; several adders may run and be merged.
class Adder {
 public:
  virtual ~Adder() = default;

  // Adds ciphertexts, several in one pass over the sum: results[i] says what became of
  // contributions[i]. Everything is checked, the length first: DataLoss names the field that is
  // wrong or says that the words do not fit what was announced; FailedPrecondition when
  // max_participants are in the sum. What is refused leaves no trace in the sum. Both spans have
  // the same length.
  virtual void AddEach(std::span<const Contribution> contributions,
                       std::span<absl::Status> results) = 0;
  // Adds one ciphertext.
  absl::Status Add(std::span<const uint8_t> ciphertext);
  // Adds what `other` has added. InvalidArgument unless both have the same parameters;
  // FailedPrecondition when together they pass max_participants. On error the sum is unchanged.
  virtual absl::Status Merge(const Adder& other) = 0;
  // K', the ciphertexts in the sum.
  virtual uint32_t count() const = 0;
  // Writes the sum in its one canonical form, aggregated_ciphertext_bytes() long: equal sets of
  // ciphertexts give equal bytes, in whatever order they came. May be called at any time, also more
  // than once.
  virtual void CloseInto(std::span<uint8_t> sum) const = 0;
  // The same into new memory.
  base::Bytes Close() const;

 protected:
  explicit Adder(const AggregationParams& params) : params_(params) {}
  const AggregationParams& params() const { return params_; }

 private:
  AggregationParams params_;
};

// An aggregated ciphertext on its way out.
class Decryption {
 public:
  virtual ~Decryption() = default;

  // The next values_per_polynomial() sums, or all that are left; aborts on another number. DataLoss
  // when a word of theirs is not canonical; the decryption is then over.
  virtual absl::Status Next(std::span<uint64_t> sums) = 0;
  // After all sums, once: the sum of the tags. Aborts at another time. DataLoss as above.
  virtual absl::StatusOr<Tag> Finish() = 0;
};

// The side of a member that knows the key of the sum. Immutable and thread-safe.
class Decryptor {
 public:
  virtual ~Decryptor() = default;

  // Begins with an aggregated ciphertext; it and this object must outlive the decryption. sums[i] =
  // sum of the i-th counts of `participants` ciphertexts. The time taken depends on no secret, and
  // neither does success: DataLoss (length, a word that is not canonical) and InvalidArgument
  // (participants not in 1..max_participants) can be seen from the input alone. A sum outside the
  // bound comes out as another number, a negative one as 0; the MAC detects both.
  virtual absl::StatusOr<std::unique_ptr<Decryption>> Begin(
      std::span<const uint8_t> aggregated_ciphertext, uint32_t participants) const = 0;

  // All sums at once, and the sum of the tags.
  struct Decrypted {
    std::vector<uint64_t> sums;
    Tag tag;
  };
  absl::StatusOr<Decrypted> Decrypt(std::span<const uint8_t> aggregated_ciphertext,
                                    uint32_t participants) const;

  // The mean square of the payload's error in this sum over the used coefficients; honest sums are
  // near participants * noise_variance_per_upload(). Depends on secrets: for the member's own log
  // and for tests, never a reason to refuse, never sent. Slower than Decrypt; errors as there.
  virtual absl::StatusOr<double> MeasureNoise(std::span<const uint8_t> aggregated_ciphertext,
                                              uint32_t participants) const = 0;

 protected:
  explicit Decryptor(const AggregationParams& params) : params_(params) {}
  const AggregationParams& params() const { return params_; }

 private:
  AggregationParams params_;
};

// `public_seed` (32 bytes) determines the public polynomials, the same for all participants of a
// round: those of models up to some millions of values are expanded here once and kept.
// InvalidArgument on another length, and for parameters of another scheme.
absl::StatusOr<std::unique_ptr<Encryptor>> NewCompactEncryptor(
    const AggregationParams& params, std::span<const uint8_t> public_seed);
// `key_sum` is the sum of the one-time keys of all ciphertexts in the sum, 4096 coefficients.
absl::StatusOr<std::unique_ptr<Decryptor>> NewCompactDecryptor(
    const AggregationParams& params, std::span<const uint8_t> public_seed,
    crypto::SecretVector<int32_t> key_sum);
// `group_secret` (32 bytes) is of one attempt and shared by all members, as published; the ternary
// secret s comes from it.
absl::StatusOr<std::unique_ptr<Encryptor>> NewPaperEncryptor(
    const AggregationParams& params, std::span<const uint8_t> public_seed,
    const crypto::SecretBytes& group_secret);
absl::StatusOr<std::unique_ptr<Decryptor>> NewPaperDecryptor(
    const AggregationParams& params, const crypto::SecretBytes& group_secret);
// `run` may spread an adder's work over up to `tasks` threads.
std::unique_ptr<Adder> NewAdder(const AggregationParams& params, size_t tasks = 1,
                                base::ParallelFor run = base::RunInTurn);

}  // namespace tacet::he

#endif  // TACET_HE_AGGREGATION_H_
