// Suggestion for a word that is not known.
#ifndef TACET_BASE_NEAREST_WORD_H_
#define TACET_BASE_NEAREST_WORD_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tacet::base {

// Least number of insertions, deletions, replacements and exchanges of neighbours that turn one
// word into the other (optimal string alignment), over bytes.
size_t EditDistance(std::string_view a, std::string_view b);

// The known word that was probably meant: equal but for upper and lower case, or at an edit
// distance of at most a third of the longer word's length, and the nearest of these. None where
// several are equally near, for an empty word and for one above 100 bytes.
std::optional<std::string> NearestWord(std::string_view word,
                                       std::span<const std::string_view> known);

}  // namespace tacet::base

#endif  // TACET_BASE_NEAREST_WORD_H_
