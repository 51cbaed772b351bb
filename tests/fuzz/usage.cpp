#include "cache/budget.h"
#include "fuzz/seal.h"
#include "fuzz/targets.h"

namespace quern::fuzz {
namespace {

void check_usage(std::string_view bytes) {
  const auto usage = cache::parse_usage(bytes);
  if (usage) require(cache::serialize(*usage) == bytes, "what is parsed serializes to the same bytes");
}

}  // namespace

void usage(std::string_view bytes) {
  check_usage(bytes);
  check_usage(sealed_usage(bytes));
}

}  // namespace quern::fuzz
