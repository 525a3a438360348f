# Compiler settings shared by every target.
set(CMAKE_CXX_STANDARD 20 CACHE STRING "C++ standard, 20 or later")
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(TACET_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "TACET_FUZZ needs clang, which brings libFuzzer; without it "
                      "TACET_FUZZ_SEEDS=ON builds the fuzz targets with a driver that runs the corpora")
endif()

add_library(tacet_flags INTERFACE)
add_library(tacet::flags ALIAS tacet_flags)
# No contraction into FMA: the same input and seed must give the same result on every processor.
target_compile_options(tacet_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                                             -ffp-contract=off)
# On ARM every processor has NEON, so Highway compiles for that alone, without attributes: with them
# g++ 12 fails on scalable vectors, and does not inline what lambdas and constructors call.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_compile_definitions(tacet_flags INTERFACE TOOLCHAIN_MISS_SYS_AUXV_H)
endif()
# By default g++ collects garbage from 128 MB on, and precompiled headers alone are that much: 12 % of
# the time of a file. The largest file needs 0.7 GB in place of 0.6.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tacet_flags INTERFACE --param=ggc-min-heapsize=500000)
endif()
# Access to what a lock guards without that lock (tacet/base/mutex.h).
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(tacet_flags INTERFACE -Wthread-safety -Wthread-safety-beta)
endif()
if(TACET_WERROR)
  target_compile_options(tacet_flags INTERFACE -Werror)
endif()
if(TACET_SANITIZE)
  # Lines for the stack traces are a tenth of the compilation, and nothing shows them without this.
  find_program(TACET_SYMBOLIZER llvm-symbolizer)
  target_compile_options(tacet_flags INTERFACE -fsanitize=${TACET_SANITIZE} -fno-sanitize-recover=all
                                               -fno-omit-frame-pointer
                                               $<$<BOOL:${TACET_SYMBOLIZER}>:-g1>)
  target_link_options(tacet_flags INTERFACE -fsanitize=${TACET_SANITIZE})
endif()
find_package(Threads REQUIRED)
target_link_libraries(tacet_flags INTERFACE Threads::Threads)

# The environment of a sanitized test. libgomp and oneDNN are not instrumented: TSan must not judge
# their internal hand-overs.
set(TACET_SANITIZER_ENVIRONMENT
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tools/leaks_of_libraries.txt:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1")
