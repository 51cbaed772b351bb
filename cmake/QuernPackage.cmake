# cpack: a tarball that runs wherever it is unpacked, and a Debian package. Both hold what install() does.

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_VENDOR "the quern authors")
set(CPACK_PACKAGE_CONTACT "the quern authors" CACHE STRING "Maintainer of the packages that cpack makes: Name <address>")
set(CPACK_PACKAGE_DESCRIPTION "quern specializes a template for a described problem, compiles it with NVRTC,
keeps the image in a cache and launches it on the caller's stream.
This package holds the library with its headers, the command quern, and the
host driver, which runs the same kernels on the CPU.")
set(CPACK_PACKAGE_FILE_NAME ${PROJECT_NAME}-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
string(TOLOWER ${CPACK_PACKAGE_FILE_NAME} CPACK_PACKAGE_FILE_NAME)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

find_program(quern_dpkg dpkg)
mark_as_advanced(quern_dpkg)
if(quern_dpkg AND BUILD_SHARED_LIBS)
  list(APPEND CPACK_GENERATOR DEB)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++ | clang")  # for the host driver's kernels
  # Packages of programs that link libquern.so then depend on this one by themselves.
  set(quern_shlibs "")
  foreach(library libquern libquern_tuner)
    string(APPEND quern_shlibs "${library} ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} quern (>= ${PROJECT_VERSION})\n")
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs ${quern_shlibs})
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/shlibs)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  find_program(quern_shlibdeps dpkg-shlibdeps)
  find_program(quern_file file)  # which CPack asks what is a binary
  mark_as_advanced(quern_shlibdeps quern_file)
  if(quern_shlibdeps AND quern_file)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  else()
    # Without versions, which dpkg-shlibdeps would find.
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, libgcc-s1, libstdc++6")
  endif()
endif()

include(CPack)
