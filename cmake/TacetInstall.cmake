# Installation: the libraries, their headers and what find_package(tacet) reads, in the component
# `dev`; the programs install themselves. TacetPackages.cmake makes packages of the components.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(tacet_libraries GLOBAL PROPERTY TACET_LIBRARIES)
install(TARGETS ${tacet_libraries} EXPORT tacetTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)

foreach(library IN LISTS tacet_libraries)
  get_target_property(folder ${library} SOURCE_DIR)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
  file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.h)
  list(FILTER headers EXCLUDE REGEX "_test\\.h$")
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${relative}
          COMPONENT dev)
endforeach()

set(tacet_config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tacet)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tacetConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/tacetConfig.cmake
                              INSTALL_DESTINATION ${tacet_config_folder})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tacetConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tacetConfig.cmake ${PROJECT_BINARY_DIR}/tacetConfigVersion.cmake
        DESTINATION ${tacet_config_folder} COMPONENT dev)
install(EXPORT tacetTargets NAMESPACE tacet:: DESTINATION ${tacet_config_folder}
        COMPONENT dev)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/SECURITY.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
# What `tacet-lab reproduce` reads (apps/tacet/program/share_folder.h).
if(TACET_LEARNING)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/tacet
          COMPONENT lab)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/experiments
          DESTINATION ${CMAKE_INSTALL_DATADIR}/tacet/docs COMPONENT lab)
endif()
