#include "cache/entry.h"

#include "fuzz/seal.h"
#include "fuzz/targets.h"

namespace quern::fuzz {
namespace {

// The description parsed from the bytes before the cubin equals that of the whole entry, whatever part is read.
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
  // Compares bytes: a NaN time is not equal to itself.
  require(cache::serialize(*description) == cache::serialize(expected), "a description is the entry's");
}

// An entry has exactly one encoding.
void check_entry(std::string_view bytes) {
  std::string why;
  const auto entry = cache::parse(bytes, &why);
  require(why.empty() == entry.has_value(), "either an entry or a reason");
  check_description(bytes, entry ? &*entry : nullptr);
  if (entry) require(cache::serialize(*entry) == bytes, "what is parsed serializes to the same bytes");
}

}  // namespace

void entry(std::string_view bytes) {
  check_entry(bytes);
  check_entry(sealed(bytes));
}

}  // namespace quern::fuzz
