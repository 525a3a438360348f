# Writes OUTPUT: the project's version, and the name and version of every component of the program.
function(tacet_write_software output)
  find_package(CLI11 QUIET)
  find_package(nlohmann_json QUIET)
  pkg_check_modules(TOMLPLUSPLUS QUIET tomlplusplus)
  set(entries)
  foreach(pair IN ITEMS "${CMAKE_CXX_COMPILER_ID}=${CMAKE_CXX_COMPILER_VERSION}"
                        "Abseil=${absl_VERSION}" "fmt=${fmt_VERSION}" "OpenSSL=${OPENSSL_VERSION}"
                        "libsodium=${SODIUM_VERSION}" "Highway=${HWY_VERSION}"
                        "Boost=${Boost_VERSION_STRING}" "oneDNN=${dnnl_VERSION}"
                        "zlib=${ZLIB_VERSION_STRING}" "utf8proc=${UTF8PROC_VERSION}" "CLI11=${CLI11_VERSION}"
                        "toml++=${TOMLPLUSPLUS_VERSION}" "JSON for Modern C++=${nlohmann_json_VERSION}")
    string(REGEX MATCH "^([^=]+)=(.*)$" matched "${pair}")
    set(version "${CMAKE_MATCH_2}")
    if(version STREQUAL "")
      set(version "unknown")
    endif()
    string(APPEND entries "      {.name = \"${CMAKE_MATCH_1}\", .version = \"${version}\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
#include "tacet/audit/software.h"

namespace tacet::audit {

std::string_view SoftwareVersion() { return "@PROJECT_VERSION@"; }

std::vector<Dependency> SoftwareDependencies() {
  return {
@entries@  };
}

}  // namespace tacet::audit
]])
endfunction()
