// Marks around a namespace whose functions are compiled for one instruction set
// (docs/design/vector-code.md). The project is compiled for any x86-64,
// or for any ARM processor of 64 bits.
#ifndef TACET_BASE_TARGET_ATTRIBUTES_H_
#define TACET_BASE_TARGET_ATTRIBUTES_H_

#include "hwy/base.h"

// `features`: as a compiler names them, "avx512f,avx512bw". Headers of others are included before.
#define TACET_BEFORE_NAMESPACE(features) \
  HWY_PUSH_ATTRIBUTES(features) static_assert(true, "for the semicolon")
#define TACET_AFTER_NAMESPACE() HWY_POP_ATTRIBUTES static_assert(true, "for the semicolon")

#endif  // TACET_BASE_TARGET_ATTRIBUTES_H_
