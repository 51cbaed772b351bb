// QUERN_API marks what libquern.so exports; everything else is hidden.
#ifndef QUERN_EXPORT_H_
#define QUERN_EXPORT_H_

#include "quern/version.h"

// With QUERN_STATIC, which the CMake package and pkg-config set for libquern.a, nothing is: the archive's symbols are
// hidden, and a plugin that has it in it calls its own copy, whatever quern its host has. What is inline in these
// headers has the visibility that the plugin is compiled with; -fvisibility=hidden is good for it too.
#ifdef QUERN_STATIC
#define QUERN_API
#else
#define QUERN_API __attribute__((visibility("default")))
#endif

#endif  // QUERN_EXPORT_H_
