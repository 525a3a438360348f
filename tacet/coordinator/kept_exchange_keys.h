// Members that keep an exchange key of an earlier epoch, and the loss by it.
#ifndef TACET_COORDINATOR_KEPT_EXCHANGE_KEYS_H_
#define TACET_COORDINATOR_KEPT_EXCHANGE_KEYS_H_

#include <span>
#include <string>
#include <vector>

#include "tacet/agreement/signed_manifest.h"

namespace tacet::coordinator {

// Names of members of an epoch.
struct KeptExchangeKeys {
  std::vector<std::string> committee, others;
};
KeptExchangeKeys FindKeptExchangeKeys(std::span<const agreement::EpochLink> earlier,
                                      const agreement::SignedManifest& next);

// Sentence on the loss when the committee of `next` keeps such keys.
std::string LossByKeptKeys(const agreement::SignedManifest& next);

// The first twenty names and the number of the others.
std::string NamesText(std::vector<std::string> names);

}  // namespace tacet::coordinator

#endif  // TACET_COORDINATOR_KEPT_EXCHANGE_KEYS_H_
