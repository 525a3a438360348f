# Debian packages for `make package`: tacet, tacet-server and tacet-dev, of the components `program`,
# `server` and `dev`. Component `lab` is for a checkout and in no package.
if(NOT TACET_WITH_NETWORK OR NOT TACET_LEARNING)
  return()
endif()

set(packaging ${PROJECT_SOURCE_DIR}/packaging)
find_program(TACET_PYTHON python3 REQUIRED)

# Manual pages come from the programs' own help, and so do the completions of shells.
set(manual ${PROJECT_BINARY_DIR}/man)
set(completion ${PROJECT_BINARY_DIR}/completion)
add_custom_target(manual_pages
  COMMAND ${PROJECT_SOURCE_DIR}/tools/manual_pages.sh ${PROJECT_BINARY_DIR} ${PROJECT_VERSION} ${manual}
          ${CMAKE_CROSSCOMPILING_EMULATOR}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${completion}
  COMMAND tacet completion bash > ${completion}/tacet
  COMMAND tacet completion zsh > ${completion}/_tacet
  DEPENDS tacet tacet-server)
# Bills of materials come from what ninja compiled and what the loader loads.
set(bills ${PROJECT_BINARY_DIR}/bills)
set(bill_of ${TACET_PYTHON} -B ${PROJECT_SOURCE_DIR}/tools/bill_of_materials.py
            --build ${PROJECT_BINARY_DIR} --sysroot=${CMAKE_SYSROOT} --version ${PROJECT_VERSION})
add_custom_target(bills_of_materials
  COMMAND ${bill_of} --name tacet --out ${bills}/tacet.cdx.json tacet
  COMMAND ${bill_of} --name tacet-server --out ${bills}/tacet-server.cdx.json tacet-server
  COMMAND ${bill_of} --name tacet-dev --out ${bills}/tacet-dev.cdx.json
          lib/$<TARGET_FILE_NAME:tacet_shared> lib/libtacet.a lib/libtacet_live.a
  DEPENDS tacet tacet-server tacet_shared tacet_archive tacet_live)
install(FILES ${completion}/tacet DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        COMPONENT program EXCLUDE_FROM_ALL)
install(FILES ${completion}/_tacet DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
        COMPONENT program EXCLUDE_FROM_ALL)
install(DIRECTORY ${manual}/program/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program
        EXCLUDE_FROM_ALL)
install(DIRECTORY ${manual}/server/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT server
        EXCLUDE_FROM_ALL)
install(FILES ${packaging}/systemd/tacet-client.service DESTINATION lib/systemd/system
        COMPONENT program EXCLUDE_FROM_ALL)
install(FILES ${packaging}/systemd/tacet-server.service DESTINATION lib/systemd/system
        COMPONENT server EXCLUDE_FROM_ALL)
install(FILES ${packaging}/prometheus/tacet-server.rules.yml ${packaging}/apache/tacet-page.conf
              ${packaging}/apache/tacet-page-settings.conf
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tacet-server COMPONENT server EXCLUDE_FROM_ALL)
foreach(component IN ITEMS program:tacet server:tacet-server dev:tacet-dev)
  string(REGEX MATCH "^(.*):(.*)$" matched ${component})
  install(FILES ${packaging}/debian/copyright ${bills}/${CMAKE_MATCH_2}.cdx.json
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CMAKE_MATCH_2}
          COMPONENT ${CMAKE_MATCH_1} EXCLUDE_FROM_ALL)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tacet)
set(CPACK_PACKAGE_CONTACT "tacet developers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
# The same files make the same packages, whatever the clock; tools/pack.sh sets the umask.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/PackageTimes.cmake)
set(CPACK_COMPONENTS_ALL program server dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(CMAKE_CROSSCOMPILING)  # tools/arm64_package.sh
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
      ${CMAKE_SYSROOT}/lib/${CMAKE_LIBRARY_ARCHITECTURE}
      ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tacet)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS adduser)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "federated learning with secure aggregation and differential privacy
 Trains one model over many owners' data, so that nobody learns anybody's data. This package has the
 program of a site, of the coordinating member and of researchers.")
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME tacet-server)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION science)
# Its keys are made and its invitation is accepted with `tacet client`.
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "adduser, tacet (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_SERVER_DESCRIPTION
    "aggregation server of a tacet federation
 Adds encrypted updates that it cannot read.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME tacet-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
# Everything that tacetConfig.cmake looks for; for tacet::live, which few need, recommended.
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "pkg-config, libabsl-dev, libfmt-dev, libhwy-dev, libssl-dev, libsodium-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS
    "libcurl4-openssl-dev, libpq-dev, libpqxx-dev, libsqlite3-dev, libutf8proc-dev, prometheus-cpp-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION
    "libraries and headers of tacet
 For C++ programs that seal, add and decrypt updates, plan a guarantee, ask queries, or run a member
 or the server of a live federation.")
foreach(component IN ITEMS PROGRAM SERVER)
  string(TOLOWER ${component} folder)
  set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA
      ${packaging}/debian/${folder}/postinst ${packaging}/debian/${folder}/prerm
      ${packaging}/debian/${folder}/postrm)
endforeach()
include(CPack)
