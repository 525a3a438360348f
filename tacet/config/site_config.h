// Settings of one site of a live federation: the agreed ones, and its own.
#ifndef TACET_CONFIG_SITE_CONFIG_H_
#define TACET_CONFIG_SITE_CONFIG_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/config/run_config.h"

namespace tacet::config {

// The settings of an agreement's annex, with the site's own from the file `own_path`: where and how
// its data lie, precision, what is told of an evaluation. InvalidArgument when the file sets a key
// that was agreed.
absl::StatusOr<RunConfig> SiteConfigOf(std::string_view annex,
                                       const std::optional<std::string>& own_path);

// Whether the agreed model is one of its users' own, which no part of tacet trains.
bool IsExternal(const RunConfig& config);

// InvalidArgument for an external model without a text that names it, or with one that is not a
// line of at most kMaxArchitectureBytes printable ASCII characters; for an `app` of another model,
// and errors of AppConfiguration.
inline constexpr size_t kMaxArchitectureBytes = 1000;
absl::Status CheckExternalModel(const RunConfig& config);

// The part of the agreement for the code of an external model: the agreed bytes of a JSON object,
// "{}" where nothing was agreed. InvalidArgument unless it is an object, of at most kMaxAppBytes
// printable ASCII characters.
inline constexpr size_t kMaxAppBytes = size_t{64} << 10;
absl::StatusOr<std::string> AppConfiguration(const RunConfig& config);

// The agreed name of an external model for a terminal: others than printable ASCII characters are
// ?.
std::string ArchitectureText(const RunConfig& agreed);
// "architecture TEXT" and, where one was agreed, "app OBJECT", each a line, for an external model;
// else empty.
absl::StatusOr<std::string> ExternalModelLines(std::string_view annex);

}  // namespace tacet::config

#endif  // TACET_CONFIG_SITE_CONFIG_H_
