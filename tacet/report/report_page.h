// Report of one or several runs as one self-contained HTML file: it needs no network and no other
// file.
#ifndef TACET_REPORT_REPORT_PAGE_H_
#define TACET_REPORT_REPORT_PAGE_H_

#include <string>
#include <string_view>

#include "tacet/base/json.h"

namespace tacet::report {

// HTML that draws `data` (docs/formats/report.md). Its Content-Security-Policy allows exactly the
// script and the style that it carries, and no address at all. Neither title nor data can end the
// element they are in, whatever bytes they hold; what is not UTF-8 becomes U+FFFD.
std::string ReportPage(std::string_view title, const base::JsonValue& data);

}  // namespace tacet::report

#endif  // TACET_REPORT_REPORT_PAGE_H_
