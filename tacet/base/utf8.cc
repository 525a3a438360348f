#include "tacet/base/utf8.h"

namespace tacet::base {

size_t Utf8CharacterBytes(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t count = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < count) return 0;
  const unsigned char lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < lowest || byte(1) > highest) return 0;
  for (size_t i = 2; i < count; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return count;
}

uint32_t Utf8Character(std::string_view text, size_t bytes) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (bytes == 1) return lead;
  uint32_t character = lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  return character;
}

}  // namespace tacet::base
