// Privacy losses of one round of fixed-size sampling, in the plane of three contributions.
//
// A round compares P = (1 - q) N(w) + q N(u) with Q = (1 - q) N(w) + q N(v): u is the unit's
// contribution, v what it is replaced by, w the contribution that replaces it when the unit is not
// drawn. All normals have unit variance; lengths are in units of sigma. For e^t >= 1 only
// what is seen from u counts (docs/security/fixed-size-accounting.md, lemma 1): the lengths |u - w|
// and |u - v| and the angle between them.
#ifndef TACET_ACCOUNTING_FIXED_SIZE_LOSS_H_
#define TACET_ACCOUNTING_FIXED_SIZE_LOSS_H_

#include <memory>

#include "tacet/accounting/round_loss.h"

namespace tacet::accounting {

// A corner of a triangle, the one at u: `rest` = |u - w| >= 0, `moved` = |u - v| > 0 and the cosine
// of the angle between the two, in (-1, 1].
struct Corner {
  double rest = 0;
  double moved = 0;
  double cosine = 1;
};

// The losses t >= 0 of P against Q at that corner, for 0 < q <= 1; At(t) is not defined below 0.
// Masses are integrals over the direction orthogonal to the corner's bisector, by the trapezoidal
// rule. For cosines >= 0 the error is below 1e-8 of each mass above 1e-20, and far below that of
// masses that are not small.
std::unique_ptr<RoundLoss> CornerLoss(double q, const Corner& corner);

// The corner with an angle of 180 degrees and both lengths c: w and v on opposite sides of u.
std::unique_ptr<RoundLoss> StraightCornerLoss(double q, double c);

// The pair whose profile for a >= 1 is that of `above` and for a <= 1 that of `below` with P and Q
// exchanged: losses above 0 from the one, those below 0 the mirror image of the other, the rest an
// atom at 0. Both halves must have the same total variation, h(1).
std::unique_ptr<RoundLoss> TwoHalvesLoss(std::shared_ptr<const RoundLoss> above,
                                         std::shared_ptr<const RoundLoss> below);

// Replace-one, c = 2 S / sigma: the symmetrised envelope, which dominates every triple. Its profile
// for a >= 1 is that of (1 - q) N(0, 1) + q N(c, 1) against N(0, 1), the largest there is; the
// relation between the neighbours is symmetric, so below 1 it is at most 1 - a + a h(1/a). No
// single triple attains both.
std::unique_ptr<RoundLoss> FixedSizeReplaceLoss(double q, double c);

// Zero-out, c = S / sigma: likewise, from
//   P = (1 - q) N(-c, 1) + q N(c, 1),  Q = (1 - q) N(-c, 1) + q N(0, 1)
// for a >= 1; the profile with the neighbours exchanged is smaller.
std::unique_ptr<RoundLoss> FixedSizeZeroOutLoss(double q, double c);

// Zero-out, c = S / sigma: that P against that Q (`present_first`), or the other way around. It is
// attained, so it bounds the truth from below.
std::unique_ptr<RoundLoss> OpposedZeroOutLoss(double q, double c, bool present_first);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_FIXED_SIZE_LOSS_H_
