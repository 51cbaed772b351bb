// Random numbers that depend only on the seed: the standard library's distributions differ between implementations.
#ifndef QUERN_BASE_RANDOM_H_
#define QUERN_BASE_RANDOM_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace quern {

// Element i of a sequence of random 64-bit numbers, in any order. The mixing function is SplitMix64's (Steele, Lea,
// Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
inline std::uint64_t random_at(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + (i + 1) * 0xd1342543de82ef95u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The same sequence, one number after another. Not thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t next() { return random_at(seed_, next_++); }
  // In [0, count). REQUIRES: count > 0.
  int below(std::size_t count) { return static_cast<int>(next() % count); }
  // In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
  }

 private:
  const std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

}  // namespace quern

#endif  // QUERN_BASE_RANDOM_H_
