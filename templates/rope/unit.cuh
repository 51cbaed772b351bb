// Which elements of a head a thread has.
//
// A thread has two accesses of a head, `low` and `high`, and so both elements of each of its pairs: no other thread
// reads what it writes, which makes it safe to rotate in place. They are accesses to global memory, or, in the staged
// form, to shared memory.
#ifndef QUERN_ROPE_UNIT_CUH_
#define QUERN_ROPE_UNIT_CUH_

#include "common/numbers.cuh"
#include "rope/sections.cuh"
#include "spec.cuh"

namespace quern::rope {

using namespace common;

using Element = spec::Element;
using Access = Vector<spec::vector>;
constexpr int kElements = spec::vector / sizeof(Element);  // of an access
// A pair is an element of `low` and one of `high`; otherwise two adjacent elements of one access.
constexpr bool kAcross = !spec::interleaved || kElements == 1;
constexpr u32 kChunks = spec::rotary_dim / kElements;  // accesses that are rotated
constexpr u32 kCopies = spec::copies / kElements;      // accesses that are copied
constexpr u32 kRotatedUnits = (kChunks + 1) / 2;
// Where nothing of a head is moved, nothing is launched.
constexpr u32 kUnits = kChunks + kCopies == 0 ? 1 : kRotatedUnits + (kCopies + 1) / 2;

// For each pair of a unit: those of `low` come first. has_angles: for each element, likewise.
constexpr int kPairs = kElements;
constexpr int kAngles = spec::has_angles ? 2 * kElements : kPairs;
struct Angles {
  float cos[kAngles];
  float sin[kAngles];
};
// The number of the angle of a pair's first element, and of its second one.
QUERN_DEVICE constexpr int first_angle(int pair) { return spec::has_angles && !kAcross ? 2 * pair : pair; }
QUERN_DEVICE constexpr int second_angle(int pair) {
  return !spec::has_angles ? pair : kAcross ? kElements + pair : 2 * pair + 1;
}

struct Unit {
  u32 low;  // element of the head
  u32 high;
  bool has_high;
  bool rotates;
  u32 pair;  // the number of low's first one
};

// An access of those that are copied: before the rotated elements, or after them.
QUERN_DEVICE u32 copied_element(u32 i) {
  const u32 element = i * kElements;
  return element < spec::rotary_offset ? element : element + spec::rotary_dim;
}

QUERN_DEVICE Unit copying_unit(u32 i) {
  constexpr u32 kHalf = (kCopies + 1) / 2;
  return {copied_element(i), copied_element(i + kHalf), i + kHalf < kCopies, false, 0};
}

QUERN_DEVICE Unit rotating_unit(u32 i) {
  if constexpr (spec::interleaved && kAcross) {
    const u32 low = spec::rotary_offset + i * 2;
    return {low, low + 1, true, true, i};
  } else if constexpr (kAcross) {
    const u32 pair = i * kElements;
    const PairSection section = kApart ? section_of(pair) : PairSection{0, 0, spec::rotary_dim / 2};
    const u32 low = spec::rotary_offset + section.begin + pair;
    return {low, low + section.pairs, true, true, pair};
  } else {
    const u32 low = spec::rotary_offset + i * kElements;
    return {low, low + kRotatedUnits * kElements, kChunks % 2 == 0 || i + kRotatedUnits < kChunks, true,
            i * kElements / 2};
  }
}

// The number of the first pair of `high`, where pairs are within an access.
QUERN_DEVICE u32 high_pair(const Unit& unit) { return unit.pair + kRotatedUnits * kElements / 2; }

QUERN_DEVICE Unit unit_of(u32 i) {
  if constexpr (kCopies != 0) {
    if (i >= kRotatedUnits) return copying_unit(i - kRotatedUnits);
  }
  return rotating_unit(i);
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_UNIT_CUH_
