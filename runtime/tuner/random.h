// Chance that is the same on every machine for a seed: the standard library's distributions are not.
#ifndef QUERN_TUNER_RANDOM_H_
#define QUERN_TUNER_RANDOM_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace quern {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). One thread.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  // In [0, count). REQUIRES: count > 0.
  int below(std::size_t count) { return static_cast<int>(next() % count); }
  // In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace quern

#endif  // QUERN_TUNER_RANDOM_H_
