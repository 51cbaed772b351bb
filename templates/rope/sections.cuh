// The sections of a head, as in rope/sections.cpp: which of a token's positions a pair has, and which entry of a table.
#ifndef QUERN_ROPE_SECTIONS_CUH_
#define QUERN_ROPE_SECTIONS_CUH_

#include "common/device.cuh"
#include "rope/kernel_params.cuh"
#include "spec.cuh"

namespace quern::rope {

using namespace common;

constexpr int kAxes = spec::axes;
constexpr bool kAlternates = spec::section_style == RopeSectionStyle::interleaved;
constexpr bool kApart = spec::section_style == RopeSectionStyle::apart;
constexpr bool kRestarts = kApart || spec::section_style == RopeSectionStyle::restarted;

struct PairSection {
  int axis;
  u32 begin;  // its first pair, where its pairs are adjacent
  u32 pairs;
};

// By comparing: the compiler indexes an array by `pair % kAxes` where that is known to be `i`, and then it is in
// memory.
QUERN_DEVICE constexpr u32 pairs_of(int section) {
  return section == 0   ? spec::section_0
         : section == 1 ? spec::section_1
         : section == 2 ? spec::section_2
                        : spec::section_3;
}

QUERN_DEVICE PairSection section_of(u32 pair) {
  PairSection section = {0, 0, pairs_of(0)};
  u32 end = pairs_of(0);
  QUERN_UNROLL for (int i = 1; i < kAxes; ++i) {
    const bool is_here = kAlternates ? pair % kAxes == i && pair < pairs_of(i) * kAxes : pair >= end;
    if (is_here) section = {i, end, pairs_of(i)};
    end += pairs_of(i);
  }
  return section;
}

QUERN_DEVICE u32 entry_of(u32 pair) { return kRestarts ? pair - section_of(pair).begin : pair; }

}  // namespace quern::rope

#endif  // QUERN_ROPE_SECTIONS_CUH_
