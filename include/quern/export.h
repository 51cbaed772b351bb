// QUERN_API marks what libquern.so exports; everything else is hidden.
#ifndef QUERN_EXPORT_H_
#define QUERN_EXPORT_H_

#include "quern/version.h"

// With QUERN_STATIC, which the CMake package and pkg-config set for libquern.a, nothing is exported: the archive's
// symbols are hidden, and a plugin that links it calls its own copy, even if its host has another quern. Inline
// functions of these headers have the visibility that the plugin is compiled with; use -fvisibility=hidden there too.
#ifdef QUERN_STATIC
#define QUERN_API
#else
#define QUERN_API __attribute__((visibility("default")))
#endif

#endif  // QUERN_EXPORT_H_
