#include "tacet/crypto/random.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <openssl/evp.h>
#include <sys/random.h>

#include "tacet/base/bytes.h"
#include "tacet/base/cpu.h"
#include "tacet/crypto/aes_ctr_vaes.h"
#include "tacet/crypto/hash.h"

namespace tacet::crypto {
namespace {

constexpr std::array<uint8_t, 16> kZeroIv{};

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "tacet: %s\n", what);
  std::abort();
}

}  // namespace

SecretBytes Entropy::Draw(size_t bytes) {
  SecretBytes secret(bytes);
  Fill(secret.Expose());
  return secret;
}

void SystemEntropy::Fill(std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      Die("the operating system refused random bytes (getrandom)");
    }
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
}

InsecureSeededEntropy::InsecureSeededEntropy(uint64_t seed, std::string_view label) {
  base::ByteWriter writer;
  writer.Raw("tacet/1/insecure-seed");
  writer.U64(seed);
  writer.Blob(label);
  const Digest key = Sha256(writer.bytes());
  stream_ = std::make_unique<AesCtrStream>(key, kZeroIv);
}
InsecureSeededEntropy::~InsecureSeededEntropy() = default;

void InsecureSeededEntropy::Fill(std::span<uint8_t> bytes) { stream_->Fill(bytes); }

struct AesCtrSource {
  virtual ~AesCtrSource() = default;
  virtual void Fill(std::span<uint8_t> bytes) = 0;
};

namespace {

class LibcryptoCtr final : public AesCtrSource {
 public:
  LibcryptoCtr(std::span<const uint8_t> key, std::span<const uint8_t> iv)
      : context_(EVP_CIPHER_CTX_new()) {
    if (context_ == nullptr ||
        EVP_EncryptInit_ex(context_, EVP_aes_256_ctr(), nullptr, key.data(), iv.data()) != 1) {
      Die("libcrypto failed: AES-256-CTR initialisation");
    }
  }
  LibcryptoCtr(const LibcryptoCtr&) = delete;
  LibcryptoCtr& operator=(const LibcryptoCtr&) = delete;
  ~LibcryptoCtr() override { EVP_CIPHER_CTX_free(context_); }

  void Fill(std::span<uint8_t> bytes) override {
    // An encryption of zeros, which lie in the first-level cache.
    static constexpr std::array<uint8_t, 4096> kZeros{};
    while (!bytes.empty()) {
      const int chunk = static_cast<int>(std::min(bytes.size(), kZeros.size()));
      int written = 0;
      if (EVP_EncryptUpdate(context_, bytes.data(), &written, kZeros.data(), chunk) != 1 ||
          written != chunk) {
        Die("libcrypto failed: AES-256-CTR");
      }
      bytes = bytes.subspan(static_cast<size_t>(chunk));
    }
  }

 private:
  EVP_CIPHER_CTX* context_;
};

#if defined(__x86_64__)
class VectorCtr final : public AesCtrSource {
 public:
  VectorCtr(std::span<const uint8_t> key, std::span<const uint8_t> iv) : stream_(key, iv) {}
  void Fill(std::span<uint8_t> bytes) override { stream_.Fill(bytes); }

 private:
  VaesCtr stream_;
};
#endif

}  // namespace

AesCtrStream::AesCtrStream(std::span<const uint8_t> key, std::span<const uint8_t> iv)
    : AesCtrStream(key, iv, base::MayUse(base::Target::kAvx512Vaes)) {}

AesCtrStream::AesCtrStream(std::span<const uint8_t> key, std::span<const uint8_t> iv,
                           [[maybe_unused]] bool vaes) {
  if (key.size() != 32 || iv.size() != 16) Die("AES-256-CTR needs a 32-byte key and a 16-byte IV");
#if defined(__x86_64__)
  if (vaes) {
    source_ = std::make_unique<VectorCtr>(key, iv);
    return;
  }
#endif
  source_ = std::make_unique<LibcryptoCtr>(key, iv);
}
AesCtrStream::~AesCtrStream() = default;

void AesCtrStream::Fill(std::span<uint8_t> bytes) {
  if (!bytes.empty()) source_->Fill(bytes);
}

Random::Random(const SecretBytes& key)
    : stream_(std::make_unique<AesCtrStream>(key.Expose(), kZeroIv)),
      buffer_(kBufferWords),
      next_(kBufferWords) {}

void Random::Fill(std::span<uint8_t> bytes) { stream_->Fill(bytes); }

void Random::FillU64(std::span<uint64_t> words) {
  stream_->Fill({reinterpret_cast<uint8_t*>(words.data()), words.size_bytes()});
}

uint64_t Random::NextU64() {
  const auto words = buffer_.Expose();
  if (next_ == words.size()) {
    FillU64(words);
    next_ = 0;
  }
  return std::exchange(words[next_++], 0);
}

uint64_t Random::Below(uint64_t bound) {
  // Lemire 2019: the high word of a 128-bit product, the biased low words rejected.
  const uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const unsigned __int128 product = static_cast<unsigned __int128>(NextU64()) * bound;
    if (static_cast<uint64_t>(product) >= threshold) return static_cast<uint64_t>(product >> 64);
  }
}

}  // namespace tacet::crypto
