// Public keys that no secret belongs to, for tests that hand them in.
#ifndef TACET_CRYPTO_BAD_KEYS_FOR_TEST_H_
#define TACET_CRYPTO_BAD_KEYS_FOR_TEST_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/base/bytes.h"

namespace tacet::crypto {

inline std::vector<std::array<uint8_t, 32>> KeysFromHex(
    const std::vector<std::string_view>& texts) {
  std::vector<std::array<uint8_t, 32>> keys;
  for (const std::string_view text : texts) {
    const base::Bytes bytes = base::FromHex(text).value();
    std::ranges::copy(bytes, keys.emplace_back().begin());
  }
  return keys;
}

// 32 bytes in hexadecimal digits: `first`, then bytes `middle`, then `last`.
inline std::string KeyText(std::string_view first, std::string_view middle, std::string_view last) {
  std::string text(first);
  for (size_t i = 0; i < 30; ++i) text += middle;
  return text += last;
}

// X25519: points of small order, and numbers of 2^255 - 19 and more. All public keys that Project
// Wycheproof (x25519_test.json) marks LowOrderPublic or NonCanonicalPublic.
inline std::vector<std::array<uint8_t, 32>> BadExchangeKeys() {
  std::vector<std::string> texts;
  for (const std::string_view first : {"00", "01", "02", "03", "04"}) {
    texts.push_back(KeyText(first, "00", "80"));
    if (first < "02") texts.push_back(KeyText(first, "00", "00"));
  }
  for (const std::string_view first : {"ec", "ed", "ee", "ef", "f0", "f1", "ff"}) {
    texts.push_back(KeyText(first, "ff", "7f"));
  }
  for (const std::string_view first : {"da", "db", "dc", "ea", "eb", "ec", "ed", "ee", "ff"}) {
    texts.push_back(KeyText(first, "ff", "ff"));
  }
  // Order eight, without and with the bit that RFC 7748 masks.
  for (const std::string_view point :
       {"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f11",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b8"}) {
    const bool first = point.starts_with("5f");
    texts.push_back(std::string(point) + (first ? "57" : "00"));
    texts.push_back(std::string(point) + (first ? "d7" : "80"));
  }
  return KeysFromHex({texts.begin(), texts.end()});
}

// Ed25519: the eight points of small order, other spellings of them, and numbers that belong to no
// point.
inline std::vector<std::array<uint8_t, 32>> BadSigningKeys() {
  std::vector<std::string> texts;
  for (const std::string_view last : {"00", "80"}) {
    texts.push_back(KeyText("00", "00", last));
    texts.push_back(KeyText("01", "00", last));
    texts.push_back(KeyText("02", "00", last));
  }
  for (const std::string_view first : {"ec", "ed", "ee"}) {
    for (const std::string_view last : {"7f", "ff"}) texts.push_back(KeyText(first, "ff", last));
  }
  for (const std::string_view point :
       {"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"}) {
    texts.emplace_back(point);
  }
  return KeysFromHex({texts.begin(), texts.end()});
}

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_BAD_KEYS_FOR_TEST_H_
