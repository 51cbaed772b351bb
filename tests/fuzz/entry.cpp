#include "cache/entry.h"

#include "fuzz/seal.h"
#include "fuzz/targets.h"

namespace quern::fuzz {
namespace {

// What stands before the cubin says of an entry what the whole says, however much of it is read.
void check_description(std::string_view bytes, const cache::Entry* whole) {
  std::uint64_t needed = 0;
  auto description = cache::parse_description(bytes.substr(0, 100), bytes.size(), &needed, nullptr);
  for (int rounds = 0; !description && needed != 0 && needed <= bytes.size() && rounds < 3; ++rounds)
    description =
        cache::parse_description(bytes.substr(0, static_cast<std::size_t>(needed)), bytes.size(), &needed, nullptr);
  if (whole == nullptr) return;
  require(description.has_value(), "an entry has a description");
  cache::Entry expected = *whole;
  expected.cubin = expected.ptx = expected.source = expected.log = "";
  // By their bytes: a time that is not a number is equal to nothing.
  require(cache::serialize(*description) == cache::serialize(expected), "a description is the entry's");
}

// An entry has one form.
void check(std::string_view bytes) {
  std::string why;
  const auto entry = cache::parse(bytes, &why);
  require(why.empty() == entry.has_value(), "either an entry or a reason");
  check_description(bytes, entry ? &*entry : nullptr);
  if (entry) require(cache::serialize(*entry) == bytes, "what is parsed serializes to the same bytes");
}

}  // namespace

void entry(std::string_view bytes) {
  check(bytes);
  check(sealed(bytes));
}

}  // namespace quern::fuzz
