// Factors of a number-theoretic transform.
#ifndef TACET_RING_NTT_TABLES_H_
#define TACET_RING_NTT_TABLES_H_

#include <cstddef>

#include "tacet/ring/aligned.h"
#include "tacet/ring/modulus.h"

namespace tacet::ring {

// Factors of the transform for one prime and degree, in the set's form (make_factors).
struct NttTables {
  Modulus modulus;
  size_t degree = 0;
  AlignedWords roots;          // psi^brv(i), in the order that ArrangeRoots gives
  AlignedWords inverse_roots;  // psi^-brv(i)
};

}  // namespace tacet::ring

#endif  // TACET_RING_NTT_TABLES_H_
