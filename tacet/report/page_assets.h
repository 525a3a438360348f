// Scripts and styles of the pages, as web/build.mjs built them from web/src into web/dist.
#ifndef TACET_REPORT_PAGE_ASSETS_H_
#define TACET_REPORT_PAGE_ASSETS_H_

#include <string_view>

namespace tacet::report {

// The script that draws the report of the data in the page.
std::string_view ReportScript();
// The script that draws a running server's page.
std::string_view LiveScript();
// The style sheet of all pages.
std::string_view PageStyle();

}  // namespace tacet::report

#endif  // TACET_REPORT_PAGE_ASSETS_H_
