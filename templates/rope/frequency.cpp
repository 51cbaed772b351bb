// The frequencies of table=computed.
#include <cmath>

#include "rope/problem.h"

namespace quern::rope {
namespace {

constexpr long double kTwoPi = 6.283185307179586476925286766559005768L;

long double scaled(const Rope& p, long double frequency) {
  const auto factor = static_cast<long double>(p.factor), low = static_cast<long double>(p.low_factor),
             high = static_cast<long double>(p.high_factor);
  if (p.rope_scaling == RopeScaling::none) return frequency;
  if (p.rope_scaling == RopeScaling::linear) return frequency / factor;
  const long double turns = static_cast<long double>(p.old_context) * frequency / kTwoPi;
  if (turns > high) return frequency;
  if (turns < low) return frequency / factor;
  const long double weight = (turns - low) / (high - low);
  return weight * frequency + (1 - weight) * frequency / factor;
}

}  // namespace

std::uint64_t frequency(const Rope& p, std::int64_t j) {
  const std::int64_t pairs = restarts(p) ? section_of(p, j).pairs : rotary_dim(p) / 2;
  const long double exponent = -static_cast<long double>(entry_of(p, j)) / static_cast<long double>(pairs);
  const long double radians = scaled(p, std::pow(static_cast<long double>(p.theta), exponent));
  return static_cast<std::uint64_t>(std::round(radians / kTwoPi * 0x1p64L));
}

std::string frequencies_source(const Rope& p) {
  std::string text = "// Turns a position of each pair, in units of 2^-64.\nnamespace quern::rope {\n";
  text += "__device__ const unsigned long long kFrequencies[] = {";
  for (std::int64_t j = 0; j < rotary_dim(p) / 2; ++j) text += std::to_string(frequency(p, j)) + "u, ";
  return text + "0};\n}  // namespace quern::rope\n";
}

}  // namespace quern::rope
