// Random positions, angles, sequences and places in a cache, for verification and timing.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "common/host_types.h"
#include "mx/scales.h"
#include "rope/step.h"

namespace quern::rope {
namespace {

// Positions that the table has, up to 2^24 without one; with a rule for others some before it and some after it, mostly
// adjacent to it. The launch adds `offset`; they are not negative unless it needs that.
std::int64_t random_position(const Rope& p, std::int64_t offset, std::uint64_t random) {
  if (!has_table(p)) return static_cast<std::int64_t>(random % (1 << 24));
  const std::int64_t last =
      p.position == RopePosition::starts || is_placed_by_position(p) ? table_rows(p) - whole_seq(p) : table_rows(p) - 1;
  const std::int64_t first = std::max<std::int64_t>(0, -offset), most = last - offset;
  const std::int64_t good =
      most <= first ? std::max<std::int64_t>(last, 0) - offset
                    : first + static_cast<std::int64_t>(random / 8 % static_cast<std::uint64_t>(most - first + 1));
  if (p.beyond == RopeBeyond::assume_valid) return good;
  return random % 8 == 0 ? -1 - offset : random % 8 == 1 ? most + 1 : random % 8 == 2 ? -good : good;
}

// Lengths of any size that ranks can share, 0 too; up to a quarter of the tokens are of no sequence, before the first
// and after the last. The first one begins anywhere, where the ranks do not share evenly too.
void fill_sequences(const Rope& p, std::uint64_t seed, std::int32_t* cu_seqlens) {
  const std::int64_t step = !has_chunks(p) ? 1 : 2 * p.cp_size, steps = whole_seq(p) / step;
  const auto most = static_cast<std::uint64_t>(steps / 8 + 1);
  for (std::int64_t b = 0; b <= p.batch; ++b) {
    const auto random = [&](std::uint64_t below) {
      return static_cast<std::int64_t>(random_at(seed, static_cast<std::uint64_t>(b)) % below);
    };
    const bool inner = b > 0 && b < p.batch;
    const std::int64_t at = inner    ? random(static_cast<std::uint64_t>(steps + 1))
                            : b == 0 ? random(most) / 2
                                     : steps - random(most);
    cu_seqlens[b] = static_cast<std::int32_t>(std::clamp<std::int64_t>(at, 0, steps) * step);
  }
  std::sort(cu_seqlens, cu_seqlens + p.batch + 1);
  const std::int64_t room = std::min(step - 1, whole_seq(p) - cu_seqlens[p.batch]);
  const auto shift = static_cast<std::int32_t>(random_at(~seed, 0) % static_cast<std::uint64_t>(room + 1));
  for (std::int64_t b = 0; b <= p.batch; ++b) cu_seqlens[b] += shift;
}

// Angles of any size, both signs and some that are no number.
void fill_angles(const Rope& p, std::uint64_t seed, float* angles) {
  for (std::int64_t i = 0; i < table_rows(p) * table_stride(p); ++i) {
    const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(i));
    const float part = static_cast<float>(static_cast<std::int32_t>(random >> 32)) * 0x1p-31f;
    angles[i] = random % 1024 == 0   ? std::bit_cast<float>(static_cast<std::uint32_t>(random >> 32))
                : random % 1024 == 1 ? std::numeric_limits<float>::infinity()
                                     : std::ldexp(part, static_cast<int>(random / 1024 % 32) - 4);
  }
}

// Tokens of a batch are at positions of their own where a cache has them by position.
void fill_positions(const Rope& p, std::int64_t offset, std::uint64_t seed, void* positions) {
  const bool has_ids = p.position == RopePosition::ids;
  const std::int64_t count = has_ids ? axes(p) * p.batch * p.seq : p.batch;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool continues = has_ids && is_placed_by_position(p) && i % p.seq != 0;
    const std::int64_t position = continues
                                      ? common::read_integer(p.index, positions, i - 1) + 1
                                      : random_position(p, offset, random_at(seed, static_cast<std::uint64_t>(i)));
    common::write_integer(p.index, positions, i, position);
  }
}

// Different ones of `places`, in any order; an eighth of them are none, below 0 or too large.
void fill_places(DType type, std::int64_t count, std::int64_t places, std::uint64_t seed, void* data) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(std::max(count, places)));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_at(seed, i) % i]);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t random = random_at(~seed, static_cast<std::uint64_t>(i)) % 16;
    const std::int64_t place = order[static_cast<std::size_t>(i)];
    common::write_integer(type, data, i, random == 0 ? -1 - place : random == 1 ? places + place : place);
  }
}

}  // namespace

bool generate(const Rope& p, const RopeArgs& a, int operand, std::uint64_t seed, void* data) {
  if (operand == kReport) return common::write_integer(DType::i64, data, 0, -1), true;
  if (operand == kCuSeqlens) return fill_sequences(p, seed, static_cast<std::int32_t*>(data)), true;
  if (operand == kAngles) return fill_angles(p, seed, static_cast<float*>(data)), true;
  if (operand == kSlots) return fill_places(p.index, batches(p) * p.seq, p.cache_pages * p.page_size, seed, data), true;
  if (operand == kPages) return fill_places(DType::i32, p.batch * p.max_pages, p.cache_pages, seed, data), true;
  if (operand == kQScale || operand == kKScale || operand == kVScale)
    return *static_cast<float*>(data) = mx::given_scale(seed), true;
  if (operand == kPositions) return fill_positions(p, a.offset, seed, data), true;
  return false;
}

}  // namespace quern::rope
