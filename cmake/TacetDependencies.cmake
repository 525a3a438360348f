# Every library that tacet stands on, found once (docs/design/dependencies.md says what each is for).
# cmake/tacetConfig.cmake.in repeats the ones that an installed copy needs.
find_package(absl REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
find_package(Boost 1.74 REQUIRED)
if(TACET_LEARNING)
  find_package(dnnl REQUIRED)
  find_package(ZLIB REQUIRED)
endif()
