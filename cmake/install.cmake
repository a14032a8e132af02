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

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)

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

# What the program says of itself: completions and the manual page.
if(NOT CMAKE_CROSSCOMPILING)
  set(made_folder ${PROJECT_BINARY_DIR}/made)
  add_custom_command(
    OUTPUT ${made_folder}/pounce ${made_folder}/_pounce ${made_folder}/pounce.fish
      ${made_folder}/pounce.1
    COMMAND ${CMAKE_COMMAND} -E make_directory ${made_folder}
    COMMAND pounce --completions bash > ${made_folder}/pounce
    COMMAND pounce --completions zsh > ${made_folder}/_pounce
    COMMAND pounce --completions fish > ${made_folder}/pounce.fish
    COMMAND pounce --help-man > ${made_folder}/pounce.1
    DEPENDS pounce VERBATIM)
  add_custom_target(pounce_made ALL DEPENDS ${made_folder}/pounce.1)
  install(FILES ${made_folder}/pounce COMPONENT program
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${made_folder}/_pounce COMPONENT program
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${made_folder}/pounce.fish COMPONENT program
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(FILES ${made_folder}/pounce.1 COMPONENT program
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
