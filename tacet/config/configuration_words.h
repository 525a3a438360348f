// Errors of the library in the words of the configuration.
#ifndef TACET_CONFIG_CONFIGURATION_WORDS_H_
#define TACET_CONFIG_CONFIGURATION_WORDS_H_

#include "absl/status/status.h"

namespace tacet::config {

// The library names its own parameters (`noise_stddev`), a user knows keys
// (`privacy.noise_stddev`). The same status, in whose message every name of a parameter is the key
// that sets it. Names that are ordinary words (`scale`) are replaced only at the beginning, where
// they are the subject.
absl::Status InConfigurationWords(const absl::Status& status);

}  // namespace tacet::config

#endif  // TACET_CONFIG_CONFIGURATION_WORDS_H_
