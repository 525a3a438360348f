// Identifiers of persons as tables spell them. All rows of one person share one bound, so two
// spellings of one person must not become two persons.
#ifndef TACET_TABLE_PERSON_TEXT_H_
#define TACET_TABLE_PERSON_TEXT_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tacet::table {

// The spelling for which an identifier stands. Identifiers with equal keys are one person.
// - Composed and decomposed letters are equal: Unicode normalization form C (UAX #15).
// - Invisible characters (Unicode's Default_Ignorable_Code_Point: soft hyphens, zero-width blanks,
//   byte order marks) do not count.
// - Blanks, tabs and line breaks of any kind do not count at both ends; within, a run is one blank.
// - Of a whole number the part behind the decimal mark does not count where it is zeros ("1007.0",
//   "1007,00"), nor do leading zeros: "00001007" is "1007".
// "" where nothing is left. A text that is not UTF-8 is compared byte by byte.
//
// The key only merges, so a wrong guess costs accuracy and no privacy: rows of two persons then
// share the bound of one. docs/design/tables.md has the reasons.
std::string PersonKey(std::string_view text);

// Keys that a person who reads them would take for one: they differ in case, accents, width of
// letters, punctuation or zeros. At most `most_examples` groups are named.
struct LookAlikes {
  size_t persons = 0;    // keys that look like another one
  std::string examples;  // "P-1007" and "p1007"; "Ann Lee" and "ann-lee"
};
LookAlikes FindLookAlikes(std::span<const std::string> keys, size_t most_examples = 3);

// Warning for the site that has them, without its full stop; empty where there are none. It quotes
// identifiers, so it is for the site alone.
std::string LookAlikesWarning(std::span<const std::string> keys);

}  // namespace tacet::table

#endif  // TACET_TABLE_PERSON_TEXT_H_
