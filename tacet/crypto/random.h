// Sources of randomness. Noise, keys and cohorts come from the operating system, expanded with
// AES-CTR.
#ifndef TACET_CRYPTO_RANDOM_H_
#define TACET_CRYPTO_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "tacet/crypto/secret.h"

namespace tacet::crypto {

// A source of fresh secret bytes, handed in wherever something must be unpredictable.
class Entropy {
 public:
  virtual ~Entropy() = default;
  virtual void Fill(std::span<uint8_t> bytes) = 0;

  SecretBytes Draw(size_t bytes);
};

// The operating system's generator (getrandom). Thread-safe. Aborts if the system refuses.
class SystemEntropy final : public Entropy {
 public:
  void Fill(std::span<uint8_t> bytes) override;
};

// A reproducible twin without any security: the bytes depend only on (seed, label) and on how many
// were drawn before. Only tests and `--insecure-seed`, which labels the run, may make one. Not
// thread-safe: give each thread its own label.
class InsecureSeededEntropy final : public Entropy {
 public:
  InsecureSeededEntropy(uint64_t seed, std::string_view label);
  ~InsecureSeededEntropy() override;
  void Fill(std::span<uint8_t> bytes) override;

 private:
  std::unique_ptr<class AesCtrStream> stream_;
};

// An implementation of the stream below.
struct AesCtrSource;

// The key stream of AES-256 in counter mode: a deterministic expansion of `key` (32 bytes) from
// the initial counter block `iv` (16 bytes, big-endian counter, as in NIST SP 800-38A). Both sides
// of a protocol expand the same bytes from it; generators run on it.
class AesCtrStream {
 public:
  AesCtrStream(std::span<const uint8_t> key, std::span<const uint8_t> iv);
  // `vaes` chooses between libcrypto and aes_ctr_vaes.h, which needs the processor's support; the
  // stream is the same.
  AesCtrStream(std::span<const uint8_t> key, std::span<const uint8_t> iv, bool vaes);
  ~AesCtrStream();
  AesCtrStream(const AesCtrStream&) = delete;
  AesCtrStream& operator=(const AesCtrStream&) = delete;

  void Fill(std::span<uint8_t> bytes);

 private:
  std::unique_ptr<AesCtrSource> source_;
};

// A buffered cryptographic generator keyed by 32 secret bytes; it lives for one seal, one round or
// one shuffle. Not thread-safe. The buffer is wiped when it is given away and on destruction.
class Random {
 public:
  explicit Random(const SecretBytes& key);
  static Random FromEntropy(Entropy& entropy) { return Random(entropy.Draw(32)); }

  void Fill(std::span<uint8_t> bytes);
  // Fills `words` with uniform 64-bit values straight from the stream.
  void FillU64(std::span<uint64_t> words);
  uint64_t NextU64();
  // Uniform on {0, ..., bound - 1}, bound >= 1, without bias (rejection).
  uint64_t Below(uint64_t bound);

 private:
  static constexpr size_t kBufferWords = 512;

  std::unique_ptr<AesCtrStream> stream_;
  SecretVector<uint64_t> buffer_;
  size_t next_;
};

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_RANDOM_H_
