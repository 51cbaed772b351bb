# install() and export(): the package quern, quern.pc, headers, the command.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/quern)

install(TARGETS quern quern_tuner EXPORT quern-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET quern_c)
  install(TARGETS quern_c EXPORT quern-targets)
  install(FILES ${QUERN_C_FAMILIES} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/quern)
endif()
if(TARGET quern_hostdriver)
  install(TARGETS quern_hostdriver LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET quern_cli)
  install(TARGETS quern_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Completion and the man page are made by the command itself.
  if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
    set(quern_made ${PROJECT_BINARY_DIR}/made_by_quern)
    file(MAKE_DIRECTORY ${quern_made})
    add_custom_command(TARGET quern_cli POST_BUILD VERBATIM
      COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:quern_cli> completion bash > ${quern_made}/quern
      COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:quern_cli> help --man > ${quern_made}/quern.1)
    install(FILES ${quern_made}/quern DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${quern_made}/quern.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endif()

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

get_property(family_headers GLOBAL PROPERTY QUERN_FAMILY_HEADERS)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/quern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(FILES ${QUERN_GENERATED_INCLUDE}/quern/version.h ${QUERN_GENERATED_INCLUDE}/quern/families.h ${family_headers}
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/quern)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/quernConfig.cmake.in ${PROJECT_BINARY_DIR}/quernConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/quernConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quernConfig.cmake ${PROJECT_BINARY_DIR}/quernConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/QuernFamilies.cmake ${PROJECT_SOURCE_DIR}/cmake/QuernEmbed.cmake
  DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/templates/common DESTINATION ${package_dir}/templates
  FILES_MATCHING PATTERN "*.cuh" PATTERN "*.h")
install(EXPORT quern-targets NAMESPACE quern:: DESTINATION ${package_dir})
export(EXPORT quern-targets NAMESPACE quern:: FILE ${PROJECT_BINARY_DIR}/quern-targets.cmake)

if(NOT BUILD_SHARED_LIBS)
  set(QUERN_PC_LIBS " -ldl -pthread")
  set(QUERN_PC_DEFINITIONS " -DQUERN_STATIC")
endif()
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
  OUTPUT_VARIABLE QUERN_PC_INCLUDE)
configure_file(${PROJECT_SOURCE_DIR}/cmake/quern.pc.in ${PROJECT_BINARY_DIR}/quern.pc @ONLY)
configure_file(cmake/quern_tuner.pc.in ${PROJECT_BINARY_DIR}/quern_tuner.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/quern.pc ${PROJECT_BINARY_DIR}/quern_tuner.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
