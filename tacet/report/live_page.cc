#include "tacet/report/live_page.h"

namespace tacet::report {

std::string_view LivePage() {
  return "<!doctype html>\n"
         "<html lang=\"en\">\n"
         "<head>\n"
         "<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"referrer\" content=\"no-referrer\">\n"
         "<title>tacet server</title>\n"
         "<link rel=\"icon\" href=\"data:,\">\n"
         "<link rel=\"stylesheet\" href=\"/page.css\">\n"
         "</head>\n"
         "<body>\n"
         "<div id=\"page\"><noscript>A script draws this page. What it shows is also at /metrics "
         "and "
         "in the server's log.</noscript></div>\n"
         "<script src=\"/live.js\"></script>\n"
         "</body>\n"
         "</html>\n";
}

std::string_view LivePagePolicy() {
  return "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
         "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

}  // namespace tacet::report
