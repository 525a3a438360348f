#include "tacet/crypto/random.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

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

// libcrypto's stream, or the vector one.
struct AesCtrStream::State {
  EVP_CIPHER_CTX* context = nullptr;
  std::optional<VaesCtr> vaes;
  ~State() { EVP_CIPHER_CTX_free(context); }
};

AesCtrStream::AesCtrStream(std::span<const uint8_t> key, std::span<const uint8_t> iv)
    : AesCtrStream(key, iv, base::MayUse(base::Target::kAvx512Vaes)) {}

AesCtrStream::AesCtrStream(std::span<const uint8_t> key, std::span<const uint8_t> iv, bool vaes)
    : state_(std::make_unique<State>()) {
  if (key.size() != 32 || iv.size() != 16) Die("AES-256-CTR needs a 32-byte key and a 16-byte IV");
  if (vaes) {
    state_->vaes.emplace(key, iv);
    return;
  }
  state_->context = EVP_CIPHER_CTX_new();
  if (state_->context == nullptr ||
      EVP_EncryptInit_ex(state_->context, EVP_aes_256_ctr(), nullptr, key.data(), iv.data()) != 1) {
    Die("libcrypto failed: AES-256-CTR initialisation");
  }
}
AesCtrStream::~AesCtrStream() = default;

void AesCtrStream::Fill(std::span<uint8_t> bytes) {
  if (bytes.empty()) return;
  if (state_->vaes.has_value()) return state_->vaes->Fill(bytes);
  // An encryption of zeros, which lie in the first-level cache.
  static constexpr std::array<uint8_t, 4096> kZeros{};
  while (!bytes.empty()) {
    const int chunk = static_cast<int>(std::min(bytes.size(), kZeros.size()));
    int written = 0;
    if (EVP_EncryptUpdate(state_->context, bytes.data(), &written, kZeros.data(), chunk) != 1 ||
        written != chunk) {
      Die("libcrypto failed: AES-256-CTR");
    }
    bytes = bytes.subspan(static_cast<size_t>(chunk));
  }
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
