# What `cmake --install` copies. Components: `program` (the command line), `library` (libpounce.so
# for programs to run with) and `development` (headers, CMake package, pkg-config file).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS pounce RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(TARGETS pounce_shared EXPORT pounce
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  NAMELINK_COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pounce
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/pounce)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pounce-config.cmake.in
  ${PROJECT_BINARY_DIR}/pounce-config.cmake INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may break programs.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pounce-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(EXPORT pounce NAMESPACE pounce:: FILE pounce-targets.cmake
  DESTINATION ${package_folder} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/pounce-config.cmake
  ${PROJECT_BINARY_DIR}/pounce-config-version.cmake
  DESTINATION ${package_folder} COMPONENT development)

file(RELATIVE_PATH prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(${PROJECT_SOURCE_DIR}/cmake/pounce.pc.in ${PROJECT_BINARY_DIR}/pounce.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pounce.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
