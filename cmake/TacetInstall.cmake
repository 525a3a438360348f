# Installs the library, its public headers and what find_package(tacet) reads; apps/ installs the
# programs. Secure aggregation and its guarantees are api/core with the folders below it, in two
# forms: the archive tacet::tacet and the shared library tacet::shared. The archive tacet::live is
# api/live with the other folders below it: runs, simulations, queries, members and servers. They are
# the component `dev`; TacetPackages.cmake makes packages of the components.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(tacet_parts base crypto ring he dp accounting secagg agreement)
set(tacet_needs fmt::fmt OpenSSL::Crypto PkgConfig::SODIUM PkgConfig::HWY Threads::Threads)
foreach(part IN LISTS tacet_parts)
  list(APPEND tacet_objects $<TARGET_OBJECTS:tacet_${part}>)
  list(APPEND tacet_archives tacet::${part})
endforeach()

add_library(tacet_archive STATIC $<TARGET_OBJECTS:tacet_api_core> ${tacet_objects})
target_link_libraries(tacet_archive PRIVATE ${tacet_needs} $<BUILD_INTERFACE:tacet_flags>)
set_target_properties(tacet_archive PROPERTIES EXPORT_NAME tacet)
add_library(tacet::tacet ALIAS tacet_archive)

# Symbols of the folders below stay inside. Before 1.0 a minor version may change the interface.
add_library(tacet_shared SHARED $<TARGET_OBJECTS:tacet_api_core>)
target_link_libraries(tacet_shared PRIVATE ${tacet_archives} ${tacet_needs})
target_link_options(tacet_shared PRIVATE -Wl,--exclude-libs,ALL)
if(NOT TACET_SANITIZE)  # a sanitizer's functions come with the program that links the library
  target_link_options(tacet_shared PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(tacet_shared PROPERTIES EXPORT_NAME shared VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
add_library(tacet::shared ALIAS tacet_shared)

foreach(library IN ITEMS tacet_archive tacet_shared)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME tacet LINKER_LANGUAGE CXX
                        ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  target_compile_features(${library} PUBLIC cxx_std_20)
  target_link_libraries(${library} PUBLIC absl::status absl::statusor)
  target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

set(tacet_with_live OFF)
if(TACET_LEARNING AND TACET_WITH_NETWORK)
  set(tacet_with_live ON)
  set(live_objects)
  foreach(part IN ITEMS table ledger policy protocol trainer statistics server member simulation data config
                        report audit run site host storage_file storage_sqlite storage_postgres
                        transport_http transport_https transport_relay)
    list(APPEND live_objects $<TARGET_OBJECTS:tacet_${part}>)
  endforeach()
  add_library(tacet_live STATIC $<TARGET_OBJECTS:tacet_api_live> ${live_objects})
  add_library(tacet::live ALIAS tacet_live)
  # tacetConfig.cmake looks for the same.
  target_link_libraries(tacet_live PUBLIC tacet_archive
                        PRIVATE absl::flat_hash_map absl::flat_hash_set absl::hash CURL::libcurl OpenSSL::SSL PkgConfig::PQXX prometheus-cpp::core
                                SQLite::SQLite3 PkgConfig::UTF8PROC ZLIB::ZLIB $<BUILD_INTERFACE:tacet_flags>)
  set_target_properties(tacet_live PROPERTIES EXPORT_NAME live LINKER_LANGUAGE CXX
                        ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
endif()

install(TARGETS tacet_archive tacet_shared EXPORT tacetTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tacet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT dev FILES_MATCHING PATTERN "*.h")

set(tacet_config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tacet)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tacetConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/tacetConfig.cmake
                              INSTALL_DESTINATION ${tacet_config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tacetConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tacetConfig.cmake ${PROJECT_BINARY_DIR}/tacetConfigVersion.cmake
        DESTINATION ${tacet_config_folder} COMPONENT dev)
install(EXPORT tacetTargets NAMESPACE tacet:: DESTINATION ${tacet_config_folder}
        COMPONENT dev)
if(tacet_with_live)
  install(TARGETS tacet_live EXPORT tacetLiveTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT dev)
  install(EXPORT tacetLiveTargets NAMESPACE tacet:: DESTINATION ${tacet_config_folder} COMPONENT dev)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/SECURITY.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
# The files that `tacet-lab reproduce` reads (apps/tacet/program/share_folder.h).
if(TACET_LEARNING)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/tacet
          COMPONENT lab)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/experiments
          DESTINATION ${CMAKE_INSTALL_DATADIR}/tacet/docs COMPONENT lab)
endif()
