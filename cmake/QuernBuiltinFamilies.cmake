# Used by templates/CMakeLists.txt to compile the families that ship with the library and to list them.

# Public headers that lie in templates/. In the build tree quern/<file> includes the file where it is, so that messages
# name the original; QuernInstall.cmake copies it.
function(quern_public_headers)
  foreach(path IN LISTS ARGN)
    cmake_path(GET path FILENAME file)
    file(CONFIGURE OUTPUT ${QUERN_GENERATED_INCLUDE}/quern/${file} CONTENT "#include \"${path}\"\n")
    set_property(GLOBAL APPEND PROPERTY QUERN_FAMILY_HEADERS ${path})
  endforeach()
endfunction()

# What a build generates, without a compile: tools/test.sh tidy reads the sources only.
add_custom_target(quern_generated)

# quern_join_built_in(TARGET SOURCE…): quern_join_folders, for what quern_private already says -ffp-contract=off to. CMake
# would leave out a file that has the option as its own.
function(quern_join_built_in target)
  if(QUERN_PRECOMPILE)
    set_property(SOURCE ${ARGN} TARGET_DIRECTORY ${target} PROPERTY COMPILE_OPTIONS)
    quern_join_folders(${target} ${ARGN})
  endif()
endfunction()

# EXAMPLE: not part of the library; compiled into the archive quern_example_families for the tests.
# INTERNAL: part of libquern_tuner, for its own use; neither listed nor installed.
function(quern_builtin_family name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EXAMPLE;INTERNAL" "" "")
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/${name})
  set(target quern_objects)
  if(arg_INTERNAL)
    set(target quern_tuner_objects)
  elseif(arg_EXAMPLE)
    if(NOT QUERN_BUILD_TESTS)
      return()
    endif()
    set(target quern_example_families)
    if(NOT TARGET quern_example_families)
      add_library(quern_example_families STATIC EXCLUDE_FROM_ALL)
      target_link_libraries(quern_example_families PUBLIC quern_private)
    endif()
  endif()
  quern_add_family(TARGET ${target} NAME ${name})
  add_dependencies(quern_generated ${target}_embeds_${name})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  quern_join_built_in(${target} ${sources})
  if(NOT arg_INTERNAL AND NOT arg_EXAMPLE)
    file(GLOB choices CONFIGURE_DEPENDS ${folder}/*_choices.h)
    quern_public_headers(${folder}/${name}.h ${choices})
    set_property(GLOBAL APPEND PROPERTY QUERN_BUILTIN_FAMILIES ${name})
  endif()
endfunction()

# gather -> Gather, bias_act -> BiasAct
function(quern_camel_case name out)
  string(REPLACE "_" ";" words ${name})
  set(camel "")
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND camel ${first}${rest})
  endforeach()
  set(${out} ${camel} PARENT_SCOPE)
endfunction()

# Embeds common/, mx/, moe/, rows/, hash/ and sort/, which families share, compiles what of them and of expression/
# is host code, and writes quern/families.h and builtin_families.cpp.
function(quern_finish_builtin_families)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB common CONFIGURE_DEPENDS ${folder}/common/*.cuh ${folder}/mx/*.cuh ${folder}/moe/*.cuh
    ${folder}/rows/*.cuh ${folder}/hash/*.cuh ${folder}/sort/*.cuh)
  file(GLOB public CONFIGURE_DEPENDS
    ${folder}/common/*_table.h ${folder}/common/*_choices.h ${folder}/mx/*_choices.h
    ${folder}/moe/*_choices.h)
  quern_embed_sources(quern_objects common ${common} ${public})
  add_dependencies(quern_generated quern_objects_embeds_common)
  quern_public_headers(${public})
  file(GLOB shared CONFIGURE_DEPENDS ${folder}/mx/*.cpp ${folder}/moe/*.cpp ${folder}/expression/*.cpp)
  target_sources(quern_objects PRIVATE ${shared})
  # References are in these too.
  set_property(SOURCE ${shared} TARGET_DIRECTORY quern_objects APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
  quern_join_built_in(quern_objects ${shared})
  list(FILTER shared INCLUDE REGEX /expression/)
  quern_small(quern_objects ${shared})

  get_property(families GLOBAL PROPERTY QUERN_BUILTIN_FAMILIES)
  set(QUERN_INCLUDES "")
  set(QUERN_ROWS "")
  foreach(name IN LISTS families)
    quern_camel_case(${name} type)
    string(APPEND QUERN_INCLUDES "#include \"quern/${name}.h\"\n")
    list(APPEND QUERN_ROWS "&${type}::family()")
  endforeach()
  list(JOIN QUERN_ROWS ", " QUERN_ROWS)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/families.h.in ${QUERN_GENERATED_INCLUDE}/quern/families.h @ONLY)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/builtin_families.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/builtin_families.cpp.in ${source} @ONLY)
  target_sources(quern_objects PRIVATE ${source})
endfunction()
