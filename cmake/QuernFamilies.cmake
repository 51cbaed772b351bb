# quern_add_family: compiles a kernel family into a target. Installed with the package, so that applications register
# families of their own:
#
#   find_package(quern REQUIRED)
#   add_executable(app main.cpp)
#   target_link_libraries(app PRIVATE quern::quern)
#   quern_add_family(TARGET app NAME scale_rows DIR families/scale_rows)  # DIR . for the folder of this CMakeLists.txt
#
# The folder has the family's name and holds <name>.cpp, <name>.cu (the template; of several steps a *.cu each), and any
# *.cpp, *.cuh and *.h. The device sources (*.cu, *.cuh, params.h, *_choices.h) are embedded, and so are the records that the family ships with,
# where it has any (records.jsonl, as `quern tune merge` writes them); <name>.cpp returns all from its `sources()`:
#
#   #include "quern_embedded/scale_rows.h"
#   static quern::Table<quern::SourceFile> sources() { return quern::embedded::scale_rows_sources(); }

set(QUERN_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/QuernEmbed.cmake)
# For a family's "common/bf16.cuh": beside this file in an installed package, else in the source tree.
set(QUERN_TEMPLATES_DIR ${CMAKE_CURRENT_LIST_DIR}/templates)
if(NOT EXISTS ${QUERN_TEMPLATES_DIR})
  cmake_path(SET QUERN_TEMPLATES_DIR NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../templates)
endif()
# As cache entries, so that the functions see them from every folder.
set(QUERN_EMBED_SCRIPT ${QUERN_EMBED_SCRIPT} CACHE INTERNAL "")
set(QUERN_TEMPLATES_DIR ${QUERN_TEMPLATES_DIR} CACHE INTERNAL "")

# Adds `quern::embedded::<name>_sources()`, made of `ARGN` at build time, to `target`. Paths become <name>/<file>.
function(quern_embed_sources target name)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/quern_families/${target}/${name})
  set(outputs ${folder}/${name}_sources.cpp ${folder}/quern_embedded/${name}.h)
  add_custom_command(OUTPUT ${outputs}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} "-DFILES=${ARGN}" -DFOLDER=${folder} -P ${QUERN_EMBED_SCRIPT}
    DEPENDS ${ARGN} ${QUERN_EMBED_SCRIPT}
    COMMENT "Embedding the device sources of ${name}"
    VERBATIM)
  # A target of its own, so that `target` may come from another folder.
  add_custom_target(${target}_embeds_${name} DEPENDS ${outputs})
  add_dependencies(${target} ${target}_embeds_${name})
  set_source_files_properties(${outputs} PROPERTIES GENERATED TRUE)
  target_sources(${target} PRIVATE ${outputs})
  target_include_directories(${target} PRIVATE ${folder})
endfunction()

function(quern_add_family)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;NAME;DIR" "")
  if(NOT arg_TARGET OR NOT arg_NAME OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "usage: quern_add_family(TARGET target NAME family [DIR folder])")
  endif()
  if(NOT arg_DIR)
    set(arg_DIR ${arg_NAME})
  endif()
  cmake_path(ABSOLUTE_PATH arg_DIR BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  string(REGEX REPLACE "/$" "" arg_DIR ${arg_DIR})  # of `DIR .`, whose parent would be itself
  cmake_path(GET arg_DIR FILENAME folder)
  if(NOT folder STREQUAL arg_NAME)  # "<name>/params.h" would not be found
    message(FATAL_ERROR "quern_add_family: the folder of the family ${arg_NAME} must have its name, not ${folder}.")
  endif()
  file(GLOB templates CONFIGURE_DEPENDS ${arg_DIR}/*.cu)
  file(GLOB others CONFIGURE_DEPENDS
    ${arg_DIR}/*.cuh ${arg_DIR}/params.h ${arg_DIR}/*_choices.h ${arg_DIR}/records.jsonl)
  if(NOT EXISTS ${arg_DIR}/${arg_NAME}.cpp)
    message(FATAL_ERROR "quern_add_family: the family ${arg_NAME} needs ${arg_DIR}/${arg_NAME}.cpp.")
  endif()
  if(NOT templates)
    message(FATAL_ERROR "quern_add_family: the family ${arg_NAME} needs ${arg_DIR}/${arg_NAME}.cu, or a *.cu a step.")
  endif()
  quern_embed_sources(${arg_TARGET} ${arg_NAME} ${templates} ${others})

  file(GLOB host_sources CONFIGURE_DEPENDS ${arg_DIR}/*.cpp)
  target_sources(${arg_TARGET} PRIVATE ${host_sources})
  # The reference must agree with the kernel bit for bit: no fused multiply-add that was not written.
  set_property(SOURCE ${host_sources} TARGET_DIRECTORY ${arg_TARGET}
    APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
  cmake_path(GET arg_DIR PARENT_PATH parent)  # for "<name>/params.h"
  target_include_directories(${arg_TARGET} PRIVATE ${parent} ${QUERN_TEMPLATES_DIR})
endfunction()
