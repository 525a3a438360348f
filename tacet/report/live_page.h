// Page of a running server: an empty frame whose script asks the server for the content.
#ifndef TACET_REPORT_LIVE_PAGE_H_
#define TACET_REPORT_LIVE_PAGE_H_

#include <string_view>

namespace tacet::report {

// HTML that loads /live.js (LiveScript) and /page.css (PageStyle) and nothing else.
std::string_view LivePage();

// Its Content-Security-Policy: scripts, styles and data from the server itself; no inline script,
// no other address, no frame.
std::string_view LivePagePolicy();

}  // namespace tacet::report

#endif  // TACET_REPORT_LIVE_PAGE_H_
