// Attributes of the files with AVX-512 code. They put them around their namespace with
// TACET_BEFORE_NAMESPACE, since the project is compiled for any x86-64, and run only where
// base::MayUse(base::Target::kAvx512).
#ifndef TACET_LAB_KERNELS_AVX512_H_
#define TACET_LAB_KERNELS_AVX512_H_

// The headers of GCC 12 leave "undefined" vectors uninitialised and are warned of (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "tacet/base/target_attributes.h"

#define TACET_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,avx512cd"
#define TACET_AVX512_BF16 TACET_AVX512 ",avx512bf16"

// Arrays of registers stay in registers when the loops over them are gone.
#if defined(__clang__)
#define TACET_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TACET_UNROLL _Pragma("GCC unroll 32")
#endif

#endif  // TACET_LAB_KERNELS_AVX512_H_
