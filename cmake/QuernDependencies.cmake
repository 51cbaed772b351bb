# What quern is built with: headers only, so that nothing but the C and C++ runtime is linked.

find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)

# Makes an interface target of the folder that holds `header`: from CMAKE_PREFIX_PATH and the system's folders, else from
# pkg-config's `module`.
function(quern_find_header target header module package)
  if(TARGET ${target})
    return()
  endif()
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(PC_${target} QUIET ${module})
  endif()
  find_path(${target}_INCLUDE ${header} HINTS ${PC_${target}_INCLUDE_DIRS})
  mark_as_advanced(${target}_INCLUDE)
  if(NOT ${target}_INCLUDE)
    message(FATAL_ERROR "quern needs the header ${header}: install the Debian package ${package}, "
      "or set ${target}_INCLUDE to the folder that holds it.")
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} INTERFACE ${${target}_INCLUDE})
endfunction()

quern_find_header(quern_xxhash xxhash.h libxxhash libxxhash-dev)

quern_find_header(quern_nlohmann_json nlohmann/json.hpp nlohmann_json nlohmann-json3-dev)

if(BUILD_SHARED_LIBS)
  quern_find_header(quern_fmt fmt/format.h fmt libfmt-dev)
  quern_find_header(quern_spdlog spdlog/spdlog.h spdlog libspdlog-dev)
  target_link_libraries(quern_spdlog INTERFACE quern_fmt)
  # Not spdlog's own target: Debian's links shared libraries.
  target_compile_definitions(quern_spdlog INTERFACE QUERN_WITH_SPDLOG=1 SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
endif()

# For the tools alone, and static: what is installed needs the C and C++ runtime only.
function(quern_find_zlib)
  quern_find_header(quern_zlib zlib.h zlib zlib1g-dev)
  find_library(quern_zlib_LIBRARY NAMES libz.a HINTS ${PC_quern_zlib_LIBRARY_DIRS})
  mark_as_advanced(quern_zlib_LIBRARY)
  if(NOT quern_zlib_LIBRARY)
    message(FATAL_ERROR "quern needs the static library libz.a: install the Debian package zlib1g-dev, "
      "or set quern_zlib_LIBRARY to the file.")
  endif()
  target_link_libraries(quern_zlib INTERFACE ${quern_zlib_LIBRARY})
endfunction()

# cuda.h and nvrtc.h, for types and constants. Nothing of CUDA is linked.
set(QUERN_CUDA_INCLUDE "$ENV{QUERN_CUDA_INCLUDE}" CACHE STRING "Folders of cuda.h and nvrtc.h; empty: CUDA_HOME, /usr/local/cuda*")
file(GLOB quern_cuda_folders /usr/local/cuda*/include)
foreach(header cuda.h nvrtc.h)
  string(MAKE_C_IDENTIFIER quern_${header}_INCLUDE variable)
  if(QUERN_CUDA_INCLUDE)
    unset(${variable} CACHE)
  endif()
  find_path(${variable} ${header}
    HINTS ${QUERN_CUDA_INCLUDE} ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda/include ${quern_cuda_folders}
    PATH_SUFFIXES include)
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "quern needs the header ${header} of CUDA 12.0 or newer: set CUDA_HOME to a toolkit or "
      "QUERN_CUDA_INCLUDE to the folder that holds it; tools/demo.sh gets it from NVIDIA's wheels.")
  endif()
endforeach()
file(STRINGS ${quern_cuda_h_INCLUDE}/cuda.h quern_cuda_version REGEX "^#define CUDA_VERSION [0-9]+")
string(REGEX MATCH "[0-9]+" quern_cuda_version "${quern_cuda_version}")
if(quern_cuda_version LESS 12000)
  message(FATAL_ERROR "${quern_cuda_h_INCLUDE}/cuda.h is of CUDA version ${quern_cuda_version}; quern needs 12000 or newer: "
    "set QUERN_CUDA_INCLUDE to another folder.")
endif()
add_library(quern_cuda_headers INTERFACE IMPORTED GLOBAL)
target_include_directories(quern_cuda_headers INTERFACE ${quern_cuda_h_INCLUDE} ${quern_nvrtc_h_INCLUDE})
