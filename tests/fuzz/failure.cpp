#include "cache/failure.h"

#include "fuzz/seal.h"
#include "fuzz/targets.h"

namespace quern::fuzz {
namespace {

void check_failure(std::string_view bytes) {
  std::string why;
  const auto failure = cache::parse_failure(bytes, &why);
  require(why.empty() == failure.has_value(), "either a failure or a reason");
  if (failure) require(cache::serialize(*failure) == bytes, "what is parsed serializes to the same bytes");
}

}  // namespace

void failure(std::string_view bytes) {
  check_failure(bytes);
  check_failure(sealed(bytes));
}

}  // namespace quern::fuzz
