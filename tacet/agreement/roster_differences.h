// The noise that is left when the server subtracts sums of different rosters.
#ifndef TACET_AGREEMENT_ROSTER_DIFFERENCES_H_
#define TACET_AGREEMENT_ROSTER_DIFFERENCES_H_

#include <optional>
#include <string>

#include "tacet/agreement/manifest.h"

namespace tacet::agreement {

// With K_min below the number U of uploads, a server with one bad member may leave another upload
// out of each attempt. Where members send the same update again, as in a repeated round, the sums'
// differences show a member's own part.
//
// This is the least standard deviation of the noise in any unbiased estimate of one coordinate of
// that part, times sqrt(N) after N attempts, over sigma. With b bad members, h = U - b, k = K_min -
// b and n shares of noise it is (sqrt(k) + (k - 1) / sqrt(h - 1)) / sqrt(n)
// (docs/security/committee.md, "Subtracted rosters"). None where every sum has all uploads, or is
// not encrypted.
std::optional<double> RosterDifferenceNoise(const ManifestSpec& spec);

// The same as a sentence for people, for the agreement and the model card; empty where it is none.
std::string RosterDifferenceText(const ManifestSpec& spec);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_ROSTER_DIFFERENCES_H_
