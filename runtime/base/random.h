// Made-up data that is the same on every machine.
#ifndef QUERN_BASE_RANDOM_H_
#define QUERN_BASE_RANDOM_H_

#include <cstdint>

namespace quern {

// The i-th number of a sequence of 64 random bits each, in any order.
inline std::uint64_t random_at(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + (i + 1) * 0xd1342543de82ef95u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace quern

#endif  // QUERN_BASE_RANDOM_H_
