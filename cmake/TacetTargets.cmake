include(CheckLinkerFlag)

# Files that include the same headers instantiate the same templates. Sixteen compiled at once take a
# third of the time. Names in their unnamed namespaces must differ. -DTACET_UNITY=OFF compiles each
# alone, which is quicker for a change of one file.
function(tacet_unity name)
  if(TACET_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# Reading headers is four fifths of compiling the library. tacet_common_headers(<target>) lets a
# target of the library or of a program use one precompiled header with what most files include.
# In precompiled headers g++ 12 does not know what belongs to the system, and warns of its std::string.
# TACET_COMMON_HEADERS=OFF compiles every file from its own includes alone: each must name what it
# uses.
set(TACET_PRECOMPILED_WARNINGS "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow>")
set(TACET_COMMON_HEADERS_WARNINGS "${TACET_PRECOMPILED_WARNINGS}" "$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>")
function(tacet_common_headers name)
  # Cryptography and arithmetic stay by themselves: kernels are compiled for several processors, and no
  # name of one file may be taken for that of another.
  if(NOT name MATCHES "^tacet_(crypto|ring|he|dp|models|lab_kernels)$")
    tacet_unity(${name})
  endif()
  set(optimisation "")
  set(headers tacet_library_headers)
  # clang needs 2.6 times as long to optimise sanitized code: only arithmetic is worth that.
  if(TACET_SANITIZE AND NOT name MATCHES
     "^tacet_(base|crypto|ring|he|dp|accounting|secagg|statistics|data|models|training|attack|simulation)$")
    set(optimisation -O0)
    set(headers tacet_unoptimised_library_headers)
  endif()
  # These run too short for more than -O1, which compiles in two thirds of the time.
  if(name MATCHES
     "^tacet_(agreement|api_.*|app_.*|audit|config|coordinator|host|lab_(attack|load|reproduce)|ledger|member|policy|report|run|site|storage_.*)$"
     AND NOT optimisation)
    set(optimisation $<$<CONFIG:Release>:-O1>)
    # From version 13 on g++ takes no headers that were precompiled at another level.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      set(headers tacet_quick_library_headers)
    endif()
  endif()
  # What guides libFuzzer. Tests have none of it: it is a quarter of compiling them.
  set(coverage $<$<BOOL:${TACET_FUZZ}>:-fsanitize=fuzzer-no-link>)
  target_compile_options(${name} PRIVATE ${optimisation} ${coverage})
  if(NOT TACET_COMMON_HEADERS)
    return()
  endif()
  if(NOT TARGET ${headers})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${headers}.cc CONTENT "" @ONLY)
    add_library(${headers} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${headers}.cc)
    target_link_libraries(${headers} PRIVATE absl::status absl::statusor fmt::fmt tacet_flags)
    target_include_directories(${headers} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(${headers} PRIVATE ${optimisation} ${coverage})
    target_precompile_headers(${headers} PRIVATE
      <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <map>
      <memory> <optional> <set> <span> <string> <string_view> <thread> <utility> <vector>
      ${PROJECT_SOURCE_DIR}/tacet/base/status.h)
  endif()
  target_precompile_headers(${name} REUSE_FROM ${headers})
  target_compile_options(${name} PRIVATE ${TACET_COMMON_HEADERS_WARNINGS})
endfunction()

# tacet_library(<name> SOURCES ... [DEPS ...] [PRIVATE_DEPS ...])
# One folder, one target: tacet/<folder> becomes tacet_<name> with the alias tacet::<name>, where a
# nested folder such as transport/http has the name transport_http, and apps/tacet/<folder> the name
# app_<folder>.
function(tacet_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(tacet_${name} STATIC ${ARG_SOURCES})
  add_library(tacet::${name} ALIAS tacet_${name})
  target_compile_features(tacet_${name} PUBLIC cxx_std_20)
  target_include_directories(tacet_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(tacet_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} tacet_flags)
  tacet_common_headers(tacet_${name})
  # Sanitized tests spend minutes in the accountants' arithmetic: -O2 saves a third of that time.
  if(TACET_SANITIZE AND name STREQUAL "accounting")
    target_compile_options(tacet_${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O2>)
  endif()
endfunction()

# tacet_embed_text(<function> <input> <output> HEADER ... NAMESPACE ...)
# <output> is a source file of `std::string_view <function>()`, the text of the file <input>.
function(tacet_embed_text function input output)
  cmake_parse_arguments(ARG "" "HEADER;NAMESPACE" "" ${ARGN})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -DFUNCTION=${function}
            -DHEADER=${ARG_HEADER} -DNAMESPACE=${ARG_NAMESPACE}
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
    DEPENDS ${input} ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
    VERBATIM)
endfunction()

# Compiling tests is most of a build. They are compiled at -Og, and at -O0 where they run programs or
# read texts, and spend no time in loops of their own. What nearly every one of them includes is
# precompiled: 4 instead of 10.5 CPU seconds a file.
function(tacet_quick_test_compilation name)
  set(optimisation $<IF:$<CONFIG:Debug>,-O0,-Og>)
  set(headers tacet_optimised_test_headers)
  if(TACET_SANITIZE OR name MATCHES
     "^(agreement|app_.*|audit|config|following|host|ledger|policy|program|recovery|site)_tests$")
    set(optimisation -O0)
    set(headers tacet_test_headers)
  endif()
  target_compile_options(${name} PRIVATE ${optimisation} "${TACET_PRECOMPILED_WARNINGS}")
  if(NOT TARGET ${headers})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${headers}.cc CONTENT "int main() {}\n" @ONLY)
    add_executable(${headers} EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${headers}.cc)
    target_link_libraries(${headers} PRIVATE tacet::base GTest::gmock tacet_flags)
    target_compile_options(${headers} PRIVATE ${optimisation})
    target_precompile_headers(${headers} PRIVATE
      <gmock/gmock.h> <gtest/gtest.h> ${PROJECT_SOURCE_DIR}/tacet/base/status.h)
  endif()
  target_precompile_headers(${name} REUSE_FROM ${headers})
  target_link_options(${name} PRIVATE ${TACET_QUICK_LINKER})
  tacet_unity(${name})
endfunction()

# It takes a third of the time of the default linker for the hundred and more binaries of tests.
check_linker_flag(CXX -fuse-ld=gold TACET_HAS_GOLD)
set(TACET_QUICK_LINKER $<$<BOOL:${TACET_HAS_GOLD}>:-fuse-ld=gold>)

# Sanitized tests of more than 20 seconds. ctest begins with them, so that none is left to run alone.
set(TACET_SLOW_SANITIZED_TESTS accounting_tests statistics_tests storage_file_tests secagg_tests
                               ring_kernels_fuzz key_sharing_fuzz)

# tacet_test(<name> [TOGETHER] SOURCES ... [DEPS ...] [LABEL unit|statistical|integration|long]
#            [TOGETHER_SUITES suite...] [REPETITIVE filter])
# Tests labelled `long` run in `make check` only; everything else runs in `make test`. The unit
# tests of the library run under sanitizers in `make test-sanitized` too, but for those that link
# data/. TOGETHER runs all tests of the binary in one process, for those that
# share something costly such as guarantees; TOGETHER_SUITES does it with each of these suites.
# REPETITIVE are those that run for long through code that other tests of the binary run once, such
# as coverages of intervals and statistical games: sanitizers would find nothing more in them, and
# leave them out.
function(tacet_test name)
  if(NOT TACET_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "TOGETHER" "LABEL;REPETITIVE" "SOURCES;DEPS;TOGETHER_SUITES" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_LABEL MATCHES "^(unit|statistical|integration|long)$")
    message(FATAL_ERROR "tacet_test(${name}): unknown LABEL ${ARG_LABEL}")
  endif()
  if(ARG_LABEL STREQUAL "long" AND NOT TACET_LONG_TESTS)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main tacet_flags)
  target_compile_definitions(${name} PRIVATE TACET_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  tacet_quick_test_compilation(${name})
  set(prefix "")
  if(ARG_LABEL STREQUAL "long")
    set(timeout 3000)
    set(prefix long.)
  else()
    set(timeout 600)
  endif()
  if(TACET_SANITIZE)
    # One process a binary: starting a sanitized one costs more than most tests.
    set(labels ${ARG_LABEL})
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}
               OUTPUT_VARIABLE folder)
    if(ARG_LABEL STREQUAL "unit" AND folder MATCHES "^tacet/" AND NOT folder MATCHES "^tacet/(data|models|training|config|run|site|coordinator|host)")
      list(APPEND labels sanitized)
      set_property(GLOBAL APPEND PROPERTY TACET_SANITIZED_TESTS ${name})
    endif()
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1 --gtest_filter=-${ARG_REPETITIVE})
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 3000
                         ENVIRONMENT "${TACET_SANITIZER_ENVIRONMENT}")
    if(name IN_LIST TACET_SLOW_SANITIZED_TESTS)
      set_tests_properties(${name} PROPERTIES COST 1)
    endif()
  elseif(ARG_TOGETHER)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${timeout})
  else()
    set(one_by_one "*")
    if(ARG_TOGETHER_SUITES)
      list(TRANSFORM ARG_TOGETHER_SUITES APPEND ".*" OUTPUT_VARIABLE together)
      list(JOIN together ":" together)
      set(one_by_one "-${together}")
    endif()
    foreach(suite IN LISTS ARG_TOGETHER_SUITES)
      add_test(NAME ${suite} COMMAND ${name} --gtest_brief=1 --gtest_filter=${suite}.*)
      set_tests_properties(${suite} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${timeout})
    endforeach()
    gtest_discover_tests(${name} TEST_PREFIX "${prefix}" TEST_FILTER "${one_by_one}"
                         DISCOVERY_TIMEOUT 120 NO_PRETTY_VALUES
                         PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${timeout})
  endif()
endfunction()

# tacet_program_test(<name> ...): a tacet_test() that runs the programs as their users do.
function(tacet_program_test name)
  tacet_test(${name} ${ARGN} DEPS tacet::app_attack tacet::app_simulate)
  if(TARGET ${name})
    target_compile_definitions(${name} PRIVATE TACET_PROGRAM="$<TARGET_FILE:tacet>")
    add_dependencies(${name} tacet)
    if(TARGET tacet-server)
      add_dependencies(${name} tacet-server)
    endif()
  endif()
endfunction()

# tacet_long_runs(<name> <filter> <VARIABLE=size>): tests of a binary once more, labelled `long`, at a
# size that they read from the environment (tacet/base/test_size_for_test.h).
function(tacet_long_runs name filter size)
  if(TARGET ${name} AND NOT TACET_SANITIZE)
    gtest_discover_tests(${name} TEST_PREFIX long. TEST_FILTER ${filter} TEST_LIST ${name}_LONG_TESTS
                         DISCOVERY_TIMEOUT 120 NO_PRETTY_VALUES
                         PROPERTIES LABELS long TIMEOUT 3000 ENVIRONMENT ${size})
  endif()
endfunction()

# tacet_constant_time_check(<name> [SIMD...]): a long test that runs constant_time_check.cc of the
# folder under valgrind, once with each value of TACET_SIMD where there are some. No branch and no
# address may depend on a secret, but for those of constant_time.supp. It needs valgrind and its header.
function(tacet_constant_time_check name)
  find_program(TACET_VALGRIND valgrind)
  find_path(TACET_VALGRIND_INCLUDE valgrind/memcheck.h)
  if(NOT TACET_TESTS OR NOT TACET_VALGRIND OR NOT TACET_VALGRIND_INCLUDE OR TACET_SANITIZE)
    return()
  endif()
  add_executable(${name}_constant_time_check constant_time_check.cc)
  target_link_libraries(${name}_constant_time_check PRIVATE tacet::${name} tacet_flags)
  set(tests ${name}_constant_time)
  if(ARGN)
    list(TRANSFORM ARGN PREPEND ${name}_constant_time_ OUTPUT_VARIABLE tests)
  endif()
  foreach(test IN LISTS tests)
    add_test(NAME ${test}
             COMMAND ${TACET_VALGRIND} -q --error-exitcode=99
                     --suppressions=${CMAKE_CURRENT_SOURCE_DIR}/constant_time.supp
                     $<TARGET_FILE:${name}_constant_time_check>)
    set_tests_properties(${test} PROPERTIES LABELS long TIMEOUT 3000)
    if(ARGN)
      string(REPLACE ${name}_constant_time_ "" simd ${test})
      set_tests_properties(${test} PROPERTIES ENVIRONMENT "TACET_SIMD=${simd}")
    endif()
  endforeach()
endfunction()

# The target `sanitized_tests`: what `make test-sanitized` builds and runs.
function(tacet_sanitized_target)
  if(TACET_SANITIZE)
    get_property(tests GLOBAL PROPERTY TACET_SANITIZED_TESTS)
    add_custom_target(sanitized_tests DEPENDS ${tests})
  endif()
endfunction()
