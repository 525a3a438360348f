// Rows of privacy accounting as a table.
#ifndef TACET_APPS_TACET_PRIVACY_PRIVACY_OUTPUT_H_
#define TACET_APPS_TACET_PRIVACY_PRIVACY_OUTPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "tacet/accounting/privacy_rows.h"
#include "tacet/report/privacy_json.h"

namespace tacet::app::privacy {

// Columns aligned for a terminal, headlines marked; ends with a line feed.
std::string PrivacyRowsTable(const std::vector<accounting::PrivacyRow>& rows,
                             const std::vector<std::optional<dp::ImplementationTerms>>& terms);

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_PRIVACY_OUTPUT_H_
