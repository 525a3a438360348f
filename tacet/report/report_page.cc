#include "tacet/report/report_page.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "fmt/format.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/report/page_assets.h"

namespace tacet::report {
namespace {

std::string Base64(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? bytes[i + k] : 0);
    for (size_t k = 0; k < 4; ++k) {
      out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

// The source expression that allows an inline script or style of this text.
std::string HashSource(std::string_view text) {
  return fmt::format("'sha256-{}'", Base64(crypto::Sha256(base::AsBytes(text))));
}

// Replaces the characters that could begin markup; `quoted` is how each is written instead.
std::string WithoutMarkup(std::string_view text, std::string_view (*quoted)(char)) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const std::string_view instead = quoted(c);
    if (instead.empty()) {
      out += c;
    } else {
      out += instead;
    }
  }
  return out;
}

std::string_view QuotedInHtml(char c) {
  switch (c) {
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '&':
      return "&amp;";
    case '"':
      return "&quot;";
    default:
      return {};
  }
}

// Outside of strings JSON has none of these, and inside it knows the escape.
std::string_view QuotedInJson(char c) {
  switch (c) {
    case '<':
      return "\\u003c";
    case '>':
      return "\\u003e";
    case '&':
      return "\\u0026";
    default:
      return {};
  }
}

}  // namespace

std::string ReportPage(std::string_view title, const base::JsonValue& data) {
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; "
      "form-action 'none'",
      HashSource(ReportScript()), HashSource(PageStyle()));
  return fmt::format(
      "<!doctype html>\n"
      "<html lang=\"en\">\n"
      "<head>\n"
      "<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<title>{}</title>\n"
      "<style>{}</style>\n"
      "</head>\n"
      "<body>\n"
      "<div id=\"page\"><noscript>A script inside this file draws the report; it loads nothing. "
      "The data stand below it as JSON.</noscript></div>\n"
      "<script type=\"application/json\" id=\"data\">{}</script>\n"
      "<script>{}</script>\n"
      "</body>\n"
      "</html>\n",
      policy, WithoutMarkup(title, QuotedInHtml), PageStyle(),
      WithoutMarkup(data.Dump(), QuotedInJson), ReportScript());
}

}  // namespace tacet::report
