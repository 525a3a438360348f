// Rows of privacy accounting as a table.
#ifndef TACET_APPS_TACET_PRIVACY_PRIVACY_OUTPUT_H_
#define TACET_APPS_TACET_PRIVACY_PRIVACY_OUTPUT_H_

#include <string>

#include "tacet/accounting/privacy_rows.h"

namespace tacet::app::privacy {

// Columns aligned for a terminal, headlines marked, with the summary below; ends with a line feed.
std::string GuaranteesTable(const accounting::Guarantees& guarantees);

// The headline in words, and what finite arithmetic adds to the rows: lines.
std::string GuaranteesSummary(const accounting::Guarantees& guarantees);

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_PRIVACY_OUTPUT_H_
