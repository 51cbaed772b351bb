# libquern_hostdriver.so: a libcuda look-alike that runs kernels on the CPU. Opened at run time, like libcuda.

find_path(quern_boost_context_INCLUDE boost/context/detail/fcontext.hpp)
# The archive, so that the driver needs nothing that another machine may lack.
find_library(quern_boost_context_LIBRARY NAMES libboost_context.a boost_context)
mark_as_advanced(quern_boost_context_INCLUDE quern_boost_context_LIBRARY)
if(NOT quern_boost_context_INCLUDE OR NOT quern_boost_context_LIBRARY)
  message(FATAL_ERROR "the host driver needs Boost.Context: install the Debian package libboost-context-dev, or set "
    "QUERN_BUILD_HOSTDRIVER=OFF to do without kernels on the CPU.")
endif()

file(GLOB quern_hostdriver_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/hostdriver/*/*.cpp)
# Objects, so that unit tests reach what the library hides.
add_library(quern_hostdriver_objects OBJECT ${quern_hostdriver_sources})
set_target_properties(quern_hostdriver_objects PROPERTIES
  POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_include_directories(quern_hostdriver_objects SYSTEM PRIVATE ${quern_boost_context_INCLUDE})
target_link_libraries(quern_hostdriver_objects PRIVATE quern_private)
quern_precompile(quern_hostdriver_objects)
quern_join_folders(quern_hostdriver_objects ${quern_hostdriver_sources})
if(CMAKE_BUILD_TYPE MATCHES "^(Debug|RelWithDebInfo)?$")
  target_compile_options(quern_hostdriver_objects PRIVATE -O2)  # it runs every thread of every kernel
endif()

add_library(quern_hostdriver SHARED
  $<TARGET_OBJECTS:quern_hostdriver_objects> ${PROJECT_SOURCE_DIR}/base/text.cpp)
set_target_properties(quern_hostdriver PROPERTIES
  LINKER_LANGUAGE CXX CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON CXX_EXTENSIONS OFF
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_libraries(quern_hostdriver PRIVATE quern_private ${quern_boost_context_LIBRARY})
# Where bin/quern looks for it, as in an installed tree.
set(quern_lib_folder ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})
cmake_path(RELATIVE_PATH PROJECT_BINARY_DIR BASE_DIRECTORY ${quern_lib_folder} OUTPUT_VARIABLE quern_from_lib_folder)
add_custom_command(TARGET quern_hostdriver POST_BUILD VERBATIM
  COMMAND ${CMAKE_COMMAND} -E make_directory ${quern_lib_folder}
  COMMAND ${CMAKE_COMMAND} -E create_symlink ${quern_from_lib_folder}/$<TARGET_FILE_NAME:quern_hostdriver>
    ${quern_lib_folder}/$<TARGET_FILE_NAME:quern_hostdriver>)
set(quern_hostdriver_symbols ${PROJECT_SOURCE_DIR}/cmake/hostdriver.symbols)
# Never unmapped: it has threads of its own.
target_link_options(quern_hostdriver PRIVATE LINKER:-z,nodelete
  LINKER:--exclude-libs,ALL LINKER:--version-script=${quern_hostdriver_symbols})
set_property(TARGET quern_hostdriver PROPERTY LINK_DEPENDS ${quern_hostdriver_symbols})
if(QUERN_SANITIZE)
  target_link_options(quern_hostdriver PRIVATE -fsanitize=${QUERN_SANITIZE})
endif()
