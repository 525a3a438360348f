// Names and numbers of algorithms are those of FIPS 203 (August 2024). Everything that depends on a
// secret is computed without branches, addresses or divisions that depend on it.
#include <algorithm>
#include <initializer_list>
#include <span>

#include <openssl/evp.h>

#include "tacet/crypto/libcrypto.h"
#include "tacet/crypto/ml_kem_implementation.h"

namespace tacet::crypto {
namespace {

constexpr size_t kN = 256;  // coefficients of a polynomial in Z_q[x] / (x^256 + 1)
constexpr size_t kRank = 3;
constexpr uint32_t kQ = 3329;
constexpr size_t kMatrixSeedBytes = 32;
constexpr size_t kSharedBytes = 32;
// Bits that are kept of a coefficient in the ciphertext's vector and in its last polynomial.
constexpr unsigned kVectorBits = 10;
constexpr unsigned kLastBits = 4;
constexpr size_t kVectorBytes = kRank * kN * kVectorBits / 8;

static_assert(sizeof(KemPublicKey) == kRank * kN * 12 / 8 + kMatrixSeedBytes);
static_assert(sizeof(KemCiphertext) == kVectorBytes + kN * kLastBits / 8);

// Coefficients in [0, q).
using Polynomial = std::array<uint16_t, kN>;
using Vector = std::array<Polynomial, kRank>;
using Matrix = std::array<Polynomial, kRank * kRank>;  // row by row

// floor(x / q) for x < 2^28, without a division: m = ceil(2^40 / q) exceeds 2^40 / q by less than
// one, so x m / 2^40 exceeds x / q by less than 2^28 / 2^40 < 1 / q.
constexpr uint32_t DivideByQ(uint32_t x) {
  constexpr uint64_t kFactor = ((uint64_t{1} << 40) + kQ - 1) / kQ;
  return static_cast<uint32_t>(x * kFactor >> 40);
}
constexpr uint16_t ModQ(uint32_t x) { return static_cast<uint16_t>(x - DivideByQ(x) * kQ); }

// x less `multiple` where it is not below, for x below twice the multiple and 2^15.
uint16_t Less(uint16_t x, uint16_t multiple) {
  const auto difference = static_cast<uint16_t>(x - multiple);
  const auto borrow = static_cast<uint16_t>(-(difference >> 15));
  return static_cast<uint16_t>(difference + (multiple & borrow));
}

// w and floor(2^16 w / q): w x mod q without a division.
struct Factor {
  uint16_t w;
  uint16_t quotient;
};
constexpr Factor FactorOf(uint32_t w) {
  return {static_cast<uint16_t>(w), static_cast<uint16_t>((w << 16) / kQ)};
}

// zeta^(factor BitRev7(i) + offset) for all i, with zeta = 17, a 256th root of unity.
constexpr std::array<Factor, 128> PowersOfZeta(uint32_t factor, uint32_t offset) {
  std::array<Factor, 128> powers{};
  for (uint32_t i = 0; i < powers.size(); ++i) {
    uint32_t reversed = 0;
    for (unsigned bit = 0; bit < 7; ++bit) reversed |= (i >> bit & 1) << (6 - bit);
    uint32_t power = 1;
    for (uint32_t times = 0; times < factor * reversed + offset; ++times) power = power * 17 % kQ;
    powers[i] = FactorOf(power);
  }
  return powers;
}
constexpr std::array<Factor, 128> kZetas = PowersOfZeta(1, 0);
constexpr std::array<Factor, 128> kGammas = PowersOfZeta(2, 1);

const EVP_MD* Fetch(const char* name) {
  const EVP_MD* const function = EVP_MD_fetch(nullptr, name, nullptr);
  CheckLibcrypto(function != nullptr, name);
  return function;
}
// Kept for the life of the process: a search among the providers costs as much as the hash.
struct Sha3Functions {
  const EVP_MD* sha3_256 = Fetch("SHA3-256");
  const EVP_MD* sha3_512 = Fetch("SHA3-512");
  const EVP_MD* shake128 = Fetch("SHAKE128");
  const EVP_MD* shake256 = Fetch("SHAKE256");
};
const Sha3Functions& Sha3() {
  static const Sha3Functions functions;
  return functions;
}

// The parts are read one after the other. SHAKE fills `output`, whatever its length.
void Hash(const EVP_MD* function, std::initializer_list<std::span<const uint8_t>> parts,
          std::span<uint8_t> output) {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  bool ok = context != nullptr && EVP_DigestInit_ex(context, function, nullptr) == 1;
  for (const auto part : parts) {
    ok = ok && EVP_DigestUpdate(context, part.data(), part.size()) == 1;
  }
  if ((EVP_MD_get_flags(function) & EVP_MD_FLAG_XOF) != 0) {
    ok = ok && EVP_DigestFinalXOF(context, output.data(), output.size()) == 1;
  } else {
    unsigned int size = 0;
    ok = ok && EVP_DigestFinal_ex(context, output.data(), &size) == 1 && size == output.size();
  }
  EVP_MD_CTX_free(context);  // wipes the state
  CheckLibcrypto(ok, "SHA-3");
}

// Algorithm 7: a uniform polynomial, in the transformed domain. The seed is public, and so are the
// places of the words that are skipped.
[[gnu::noinline]] void SampleUniform(std::span<const uint8_t> matrix_seed, uint8_t column,
                                     uint8_t row, Polynomial& result) {
  const std::array<uint8_t, 2> place = {column, row};
  // Three blocks of SHAKE128 are enough with probability 0.99. Five, 280 pairs of candidates, are
  // too few with probability below 2^-261 (FIPS 203, appendix B).
  for (const size_t bytes : {504, 840}) {
    std::array<uint8_t, 840> stream;
    Hash(Sha3().shake128, {matrix_seed, place}, std::span(stream).first(bytes));
    std::array<uint16_t, 560> words;
    size_t found = 0;
    for (size_t i = 0; i < bytes; i += 3) {
      const uint32_t first = stream[i] | (stream[i + 1] & 15u) << 8;
      const uint32_t second = stream[i + 1] >> 4 | uint32_t{stream[i + 2]} << 4;
      words[found] = static_cast<uint16_t>(first);
      found += first < kQ ? 1 : 0;
      words[found] = static_cast<uint16_t>(second);
      found += second < kQ ? 1 : 0;
    }
    if (found < kN) continue;
    std::copy_n(words.begin(), kN, result.begin());
    return;
  }
  CheckLibcrypto(false, "SHAKE128");
}

// The public matrix: row i, column j from the seed followed by j and i.
void ExpandMatrix(std::span<const uint8_t> matrix_seed, Matrix& matrix) {
  for (uint8_t row = 0; row < kRank; ++row) {
    for (uint8_t column = 0; column < kRank; ++column) {
      SampleUniform(matrix_seed, column, row, matrix[row * kRank + column]);
    }
  }
}

// Two bits less two others, mod q, of the lowest four.
uint16_t BinomialOf(uint32_t bits) {
  const uint32_t sum = kQ + (bits & 1) + (bits >> 1 & 1) - (bits >> 2 & 1) - (bits >> 3 & 1);
  return Less(static_cast<uint16_t>(sum), kQ);
}
// Algorithm 8 with eta = 2. The stream is that of a secret seed and a counter.
void SampleSmall(std::span<const uint8_t> seed, uint8_t counter, Polynomial& result) {
  SecretBytes owner(kN / 2);
  const std::span<uint8_t> stream = owner.Expose();
  Hash(Sha3().shake256, {seed, std::span(&counter, 1)}, stream);
  for (size_t i = 0; i < stream.size(); ++i) {
    result[2 * i] = BinomialOf(stream[i]);
    result[2 * i + 1] = BinomialOf(stream[i] >> 4);
  }
}
void SampleSmall(std::span<const uint8_t> seed, uint8_t first_counter, Vector& result) {
  for (Polynomial& polynomial : result) SampleSmall(seed, first_counter++, polynomial);
}

// w x mod q, plus 0 or q, for each x (Shoup): the quotient's error is below 2.
uint16_t TimesFactor(uint16_t x, Factor factor) {
  const auto quotient = static_cast<uint16_t>(uint32_t{x} * factor.quotient >> 16);
  return static_cast<uint16_t>(x * factor.w - quotient * kQ);
}
// Algorithm 9. Products are below 2q, so values grow by 2q a stage: they end below 15q < 2^16.
void Transform(Polynomial& f) {
  size_t zeta = 1;
  for (size_t length = kN / 2; length >= 2; length /= 2) {
    for (size_t start = 0; start < kN; start += 2 * length, ++zeta) {
      const Factor factor = kZetas[zeta];
      for (size_t i = start; i < start + length; ++i) {
        const uint16_t product = TimesFactor(f[i + length], factor);
        f[i + length] = static_cast<uint16_t>(f[i] + 2 * kQ - product);
        f[i] = static_cast<uint16_t>(f[i] + product);
      }
    }
  }
  for (uint16_t& coefficient : f) coefficient = ModQ(coefficient);
}
void Transform(Vector& vector) {
  for (Polynomial& polynomial : vector) Transform(polynomial);
}

// Algorithm 10. Values stay below 2q. 3303 = 1/128 mod q.
void TransformBack(Polynomial& f) {
  size_t zeta = kZetas.size() - 1;
  for (size_t length = 2; length <= kN / 2; length *= 2) {
    for (size_t start = 0; start < kN; start += 2 * length, --zeta) {
      const Factor factor = kZetas[zeta];
      for (size_t i = start; i < start + length; ++i) {
        const auto sum = static_cast<uint16_t>(f[i] + f[i + length]);
        const auto difference = static_cast<uint16_t>(f[i + length] + 2 * kQ - f[i]);
        f[i] = Less(sum, 2 * kQ);
        f[i + length] = TimesFactor(difference, factor);
      }
    }
  }
  constexpr Factor kScale = FactorOf(3303);
  for (uint16_t& x : f) x = Less(TimesFactor(x, kScale), kQ);
}

// The sum of a[i stride] b[i], in the transformed domain (algorithms 11 and 12): products of linear
// polynomials mod x^2 - gamma. Sums of 3 products of values below q are below 2^26.
void InnerProduct(const Polynomial* a, size_t stride, const Vector& b, Polynomial& result) {
  for (size_t i = 0; i < kN; i += 2) {
    uint32_t low = 0, high = 0, cross = 0;
    for (size_t k = 0; k < kRank; ++k) {
      const Polynomial& f = a[k * stride];
      const Polynomial& g = b[k];
      low += uint32_t{f[i]} * g[i];
      high += uint32_t{f[i + 1]} * g[i + 1];
      cross += uint32_t{f[i]} * g[i + 1] + uint32_t{f[i + 1]} * g[i];
    }
    result[i] = ModQ(low + uint32_t{kGammas[i / 2].w} * ModQ(high));
    result[i + 1] = ModQ(cross);
  }
}

void Add(const Polynomial& summand, Polynomial& sum) {
  for (size_t i = 0; i < kN; ++i) sum[i] = Less(static_cast<uint16_t>(sum[i] + summand[i]), kQ);
}

// Algorithm 5: `bits` of each coefficient, the lowest bit first.
void Encode(const Polynomial& polynomial, unsigned bits, std::span<uint8_t> bytes) {
  uint32_t held = 0;
  unsigned held_bits = 0;
  size_t next = 0;
  for (const uint16_t coefficient : polynomial) {
    held |= uint32_t{coefficient} << held_bits;
    for (held_bits += bits; held_bits >= 8; held_bits -= 8) {
      bytes[next++] = static_cast<uint8_t>(held);
      held >>= 8;
    }
  }
}
// Algorithm 6, without its reduction mod q.
void Decode(std::span<const uint8_t> bytes, unsigned bits, Polynomial& result) {
  uint32_t held = 0;
  unsigned held_bits = 0;
  size_t next = 0;
  for (uint16_t& coefficient : result) {
    for (; held_bits < bits; held_bits += 8) held |= uint32_t{bytes[next++]} << held_bits;
    coefficient = static_cast<uint16_t>(held & ((1u << bits) - 1));
    held >>= bits;
    held_bits -= bits;
  }
}

// Section 4.2.1: the nearest multiple of q / 2^bits, mod 2^bits, and back.
void Compress(unsigned bits, Polynomial& polynomial) {
  for (uint16_t& x : polynomial) {
    x = static_cast<uint16_t>(DivideByQ((uint32_t{x} << bits) + kQ / 2) & ((1u << bits) - 1));
  }
}
void Decompress(unsigned bits, Polynomial& polynomial) {
  for (uint16_t& x : polynomial) {
    x = static_cast<uint16_t>((x * kQ + (1u << (bits - 1))) >> bits);
  }
}

// The bytes of polynomial i of a vector.
template <typename T, size_t kExtent>
std::span<T> PartOf(std::span<T, kExtent> vector, size_t i, unsigned bits) {
  return std::span<T>(vector).subspan(i * kN * bits / 8, kN * bits / 8);
}

// Both halves of a key, in the transformed domain: t = matrix s + e.
struct PublicHalf {
  Matrix matrix;
  Vector t;
};
struct SecretHalf {
  Vector s;
  Vector e;
};

// The public half of a key that passed CheckKemKey.
PublicHalf Expand(const KemPublicKey& key) {
  PublicHalf half;
  for (size_t i = 0; i < kRank; ++i) Decode(PartOf(std::span(key), i, 12), 12, half.t[i]);
  ExpandMatrix(std::span(key).last(kMatrixSeedBytes), half.matrix);
  return half;
}

// Algorithm 13: the key of the seed d, and both of its halves.
KemPublicKey ExpandSeed(std::span<const uint8_t> d, PublicHalf& open, SecretHalf& secret) {
  SecretBytes seeds(2 * 32);  // rho ‖ sigma
  const auto rank = static_cast<uint8_t>(kRank);
  Hash(Sha3().sha3_512, {d, std::span(&rank, 1)}, seeds.Expose());
  const std::span<const uint8_t> matrix_seed = seeds.Expose().first(32);
  const std::span<const uint8_t> noise_seed = seeds.Expose().last(32);
  ExpandMatrix(matrix_seed, open.matrix);
  SampleSmall(noise_seed, 0, secret.s);
  SampleSmall(noise_seed, kRank, secret.e);
  Transform(secret.s);
  Transform(secret.e);
  KemPublicKey key;
  for (size_t i = 0; i < kRank; ++i) {
    InnerProduct(&open.matrix[i * kRank], 1, secret.s, open.t[i]);
    Add(secret.e[i], open.t[i]);
    Encode(open.t[i], 12, PartOf(std::span(key), i, 12));
  }
  std::ranges::copy(matrix_seed, key.end() - kMatrixSeedBytes);
  return key;
}

// Secrets of one encryption.
struct EncryptionSecrets {
  Vector y;
  Vector e1;
  Polynomial e2;
  Polynomial message;
};

// Algorithm 14: the message, 32 bytes, under the coins.
KemCiphertext Encrypt(const PublicHalf& key, std::span<const uint8_t> message,
                      std::span<const uint8_t> coins) {
  SecretVector<EncryptionSecrets> owner(1);
  EncryptionSecrets& secrets = owner.Expose().front();
  SampleSmall(coins, 0, secrets.y);
  SampleSmall(coins, kRank, secrets.e1);
  SampleSmall(coins, 2 * kRank, secrets.e2);
  Transform(secrets.y);
  Decode(message, 1, secrets.message);
  Decompress(1, secrets.message);
  KemCiphertext ciphertext;
  SecretVector<Polynomial> sums(1);
  Polynomial& sum = sums.Expose().front();
  for (size_t i = 0; i < kRank; ++i) {
    InnerProduct(&key.matrix[i], kRank, secrets.y, sum);
    TransformBack(sum);
    Add(secrets.e1[i], sum);
    Compress(kVectorBits, sum);
    Encode(sum, kVectorBits, PartOf(std::span(ciphertext), i, kVectorBits));
  }
  InnerProduct(key.t.data(), 1, secrets.y, sum);
  TransformBack(sum);
  Add(secrets.e2, sum);
  Add(secrets.message, sum);
  Compress(kLastBits, sum);
  Encode(sum, kLastBits, std::span(ciphertext).subspan(kVectorBytes));
  return ciphertext;
}

// Algorithm 15: the message, 32 bytes, of the owner of s.
void Decrypt(const Vector& s, const KemCiphertext& ciphertext, std::span<uint8_t> message) {
  Vector u;
  for (size_t i = 0; i < kRank; ++i) {
    Decode(PartOf(std::span(ciphertext), i, kVectorBits), kVectorBits, u[i]);
    Decompress(kVectorBits, u[i]);
  }
  Transform(u);
  SecretVector<Polynomial> owner(2);
  Polynomial& product = owner.Expose()[0];
  Polynomial& v = owner.Expose()[1];
  InnerProduct(s.data(), 1, u, product);
  TransformBack(product);
  Decode(std::span(ciphertext).subspan(kVectorBytes), kLastBits, v);
  Decompress(kLastBits, v);
  for (size_t i = 0; i < kN; ++i) v[i] = Less(static_cast<uint16_t>(v[i] + kQ - product[i]), kQ);
  Compress(1, v);
  Encode(v, 1, message);
}

// The shared secret and the coins of a message for a public key, 32 bytes each.
SecretBytes SecretAndCoins(std::span<const uint8_t> message, const KemPublicKey& key) {
  std::array<uint8_t, 32> key_hash;
  Hash(Sha3().sha3_256, {key}, key_hash);
  SecretBytes result(kSharedBytes + 32);
  Hash(Sha3().sha3_512, {message, key_hash}, result.Expose());
  return result;
}

// 0xff where both are equal, else 0.
uint8_t EqualMask(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  uint32_t differing = 0;
  for (size_t i = 0; i < a.size(); ++i) differing |= a[i] ^ b[i];
  return static_cast<uint8_t>((differing - 1) >> 8);
}

KemPublicKey KeyOfSeed(const SecretBytes& seed) {
  PublicHalf open;
  SecretVector<SecretHalf> secret(1);
  return ExpandSeed(seed.Expose().first(32), open, secret.Expose().front());
}

// Algorithm 18.
SecretBytes Decapsulate(const SecretBytes& seed, const KemPublicKey& key,
                        const KemCiphertext& ciphertext) {
  PublicHalf open;
  SecretVector<SecretHalf> secret(1);
  ExpandSeed(seed.Expose().first(32), open, secret.Expose().front());
  SecretBytes message(32);
  Decrypt(secret.Expose().front().s, ciphertext, message.Expose());
  const SecretBytes derived = SecretAndCoins(message.Expose(), key);
  SecretBytes rejected(kSharedBytes);
  Hash(Sha3().shake256, {seed.Expose().last(32), ciphertext}, rejected.Expose());
  // For a malformed ciphertext it depends on the secret message (section 3.3).
  SecretVector<KemCiphertext> again(1);
  again.Expose().front() = Encrypt(open, message.Expose(), derived.Expose().subspan(kSharedBytes));
  const uint8_t equal = EqualMask(ciphertext, again.Expose().front());
  SecretBytes shared(kSharedBytes);
  for (size_t i = 0; i < kSharedBytes; ++i) {
    const uint8_t right = derived.Expose()[i], wrong = rejected.Expose()[i];
    shared.Expose()[i] = static_cast<uint8_t>(wrong ^ (equal & (wrong ^ right)));
  }
  return shared;
}

// Algorithm 17.
Encapsulated Encapsulate(const SecretBytes& coins, const KemPublicKey& key) {
  const SecretBytes derived = SecretAndCoins(coins.Expose(), key);
  return Encapsulated{
      .ciphertext = Encrypt(Expand(key), coins.Expose(), derived.Expose().subspan(kSharedBytes)),
      .shared = SecretBytes::CopyOf(derived.Expose().first(kSharedBytes))};
}

}  // namespace

const MlKemImplementation& OwnMlKem() {
  static constexpr MlKemImplementation kImplementation = {
      .key_of_seed = KeyOfSeed, .decapsulate = Decapsulate, .encapsulate = Encapsulate};
  return kImplementation;
}

}  // namespace tacet::crypto
