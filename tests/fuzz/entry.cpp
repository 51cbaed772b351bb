#include "cache/entry.h"

#include "fuzz/seal.h"
#include "fuzz/targets.h"

namespace quern::fuzz {
namespace {

// An entry has one form.
void check(std::string_view bytes) {
  std::string why;
  const auto entry = cache::parse(bytes, &why);
  require(why.empty() == entry.has_value(), "either an entry or a reason");
  if (entry) require(cache::serialize(*entry) == bytes, "what is parsed serializes to the same bytes");
}

}  // namespace

void entry(std::string_view bytes) {
  check(bytes);
  check(sealed(bytes));
}

}  // namespace quern::fuzz
