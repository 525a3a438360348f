// Warnings about values of a site's columns that may be errors, before a query is asked.
#ifndef TACET_APPS_TACET_DATA_COLUMN_WARNINGS_H_
#define TACET_APPS_TACET_DATA_COLUMN_WARNINGS_H_

#include <string>
#include <vector>

#include "tacet/statistics/query.h"
#include "tacet/statistics/site_table.h"

namespace tacet::app::data {

// Numbers outside of a question's bounds, which count as the nearest one; times of a survival
// question below 0, and dates of a derived column in the wrong order, whose rows are left out. The
// tables have the derived columns.
std::vector<std::string> ColumnWarnings(const tacet::statistics::Query& query,
                                        const std::vector<tacet::statistics::SiteTable>& tables);

}  // namespace tacet::app::data

#endif  // TACET_APPS_TACET_DATA_COLUMN_WARNINGS_H_
