// The fuzz targets: properties that hold for any bytes that a reader of quern may get. Each libFuzzer program calls one
// of them; the unit tests call all of them on the inputs kept in corpus/.
#ifndef QUERN_TESTS_FUZZ_TARGETS_H_
#define QUERN_TESTS_FUZZ_TARGETS_H_

#include <stdexcept>
#include <string_view>

// The one list: X(name), where name.cpp defines the target.
#define QUERN_FUZZ_TARGETS(X)                                       \
  X(entry)    /* an image's file */                                 \
  X(failure)  /* a remembered failure's file */                     \
  X(usage)    /* the account of what a directory holds */           \
  X(pack)     /* a pack's index and entries */                      \
  X(key_text) /* the fields of a key */                             \
  X(manifest) /* JSON lines, as a host application records them */  \
  X(journal)  /* a sweep's file */                                  \
  X(records)  /* a file of records, read, appended to and merged */ \
  X(program)  /* a text of the expression language */               \
  X(layer)    /* a store's look-ups in a directory and a pack of anything */

namespace quern::fuzz {

// Throws on bytes that violate the target's properties.
#define QUERN_FUZZ_DECLARE(name) void name(std::string_view bytes);
QUERN_FUZZ_TARGETS(QUERN_FUZZ_DECLARE)
#undef QUERN_FUZZ_DECLARE

// `property`: the statement that was expected to hold.
inline void require(bool holds, const char* property) {
  if (!holds) throw std::logic_error(property);
}

}  // namespace quern::fuzz

#endif  // QUERN_TESTS_FUZZ_TARGETS_H_
