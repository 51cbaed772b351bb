#include "moe_map/rules.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "base/text.h"
#include "moe_map/params.h"

namespace quern::moe_map {
namespace {

constexpr std::int64_t kMostRows = (std::int64_t{1} << 31) - 1;  // rows are i32

bool is_index(const MoeMap& p) {
  switch (p.map) {
    case MoeMapKind::ids:
    case MoeMapKind::counts:
      return index_of(p) == i32 || index_of(p) == i64;
    case MoeMapKind::mask:
      return index_of(p) == u8 || index_of(p) == i32;
    default:
      return index_of(p) == u8;
  }
}

// The exclusive upper bound of ids.
std::int64_t valid(const MoeMap& p) { return p.global > 0 ? p.global : p.experts; }

std::int32_t expert_of(const MoeMap& p, const MoeMapArgs& a, std::int64_t route) {
  const std::int64_t id = common::read_integer(index_of(p), a.map.data, route);
  if (id < 0 || id >= valid(p)) return -1;
  if (p.global == 0) return static_cast<std::int32_t>(id);
  const std::int32_t expert = static_cast<const std::int32_t*>(a.expert_map.data)[id];
  return expert >= 0 && expert < p.experts ? expert : -1;
}

bool marked(const MoeMap& p, const MoeMapArgs& a, std::int64_t token, std::int64_t expert) {
  if (p.map == MoeMapKind::mask) return common::read_integer(index_of(p), a.map.data, token * p.experts + expert) != 0;
  return (static_cast<const std::uint8_t*>(a.map.data)[token * map_width(p) + expert / 8] >> expert % 8 & 1) != 0;
}

// Adds to *dropped the tokens that do not exist.
void read_counts(const MoeMap& p, const MoeMapArgs& a, std::int64_t* dropped, moe::Routes& routes) {
  std::int64_t token = 0;
  for (std::int64_t run = 0; run < p.ranks * p.experts; ++run) {
    const std::int64_t count =
        std::clamp<std::int64_t>(common::read_integer(index_of(p), a.map.data, run), 0, kMostRows);
    const std::int64_t kept = std::min(count, p.tokens - token);
    std::fill_n(routes.experts.begin() + token, kept, static_cast<std::int32_t>(run % p.experts));
    token += kept;
    *dropped += count - kept;
  }
  *dropped = std::min(*dropped, kMostRows - token);
}

// Adds to *dropped the routes beyond the topk-th of a token.
moe::Routes read_routes(const MoeMap& p, const MoeMapArgs& a, std::int64_t* dropped) {
  moe::Routes routes{p.tokens, p.topk, std::vector<std::int32_t>(static_cast<std::size_t>(p.tokens * p.topk), -1)};
  if (has_counts(p)) return read_counts(p, a, dropped, routes), routes;
  for (std::int64_t t = 0; t < p.tokens; ++t) {
    std::int32_t* const own = routes.experts.data() + t * p.topk;
    std::int64_t k = 0;
    for (std::int64_t e = p.experts; has_mask(p) && e-- > 0;) {
      if (!marked(p, a, t, e)) continue;
      if (k < p.topk) own[k] = static_cast<std::int32_t>(e);
      ++k;
    }
    *dropped += std::max<std::int64_t>(0, k - p.topk);
    for (k = 0; !has_mask(p) && k < p.topk; ++k) own[k] = expert_of(p, a, t * p.topk + k);
  }
  return routes;
}

void write_row_ids(const MoeMap& p, const moe::Routes& routes, const moe::RowMap& map, std::int32_t* out) {
  const std::int64_t width = 2 * p.experts + 1;
  std::fill(out, out + p.tokens * width, -1);
  for (std::int64_t t = 0; t < p.tokens; ++t, out += width) {
    std::int32_t count = 0;
    for (std::int64_t k = 0; k < p.topk; ++k) {
      const std::int32_t row = map.unpadded[static_cast<std::size_t>(t * p.topk + k)];
      if (row < 0) continue;  // no route, or dropped
      out[count] = row;
      out[p.experts + count++] = routes(t, k);
    }
    out[2 * p.experts] = count;
  }
}

template <class T>
void copy(const std::vector<T>& from, const Out& to) {
  if (!from.empty()) std::memcpy(to.data, from.data(), from.size() * sizeof(T));
}

// Of a local expert; lower ids are of other devices.
std::int64_t global_id(const MoeMap& p, std::int64_t expert) { return p.global - p.experts + expert; }

void generate_ids(const MoeMap& p, const moe::Routes& routes, std::uint64_t seed, void* data) {
  for (std::int64_t i = 0; i < p.tokens * p.topk; ++i) {
    const std::int64_t expert = routes.experts[static_cast<std::size_t>(i)];
    const std::uint64_t random = random_at(seed + 1, static_cast<std::uint64_t>(i));
    const std::int64_t nobody = random % 2 == 0 ? -1 : valid(p) + static_cast<std::int64_t>(random / 2 % 3);
    const std::int64_t id = expert < 0 ? nobody : p.global == 0 ? expert : global_id(p, expert);
    const bool elsewhere = p.global > p.experts && random % 4 == 0;
    const std::int64_t other = elsewhere ? static_cast<std::int64_t>(random / 8) % (p.global - p.experts) : 0;
    common::write_integer(index_of(p), data, i, elsewhere ? other : id);
  }
}

// One of eight tokens has no route, or there are more routes than tokens. A run without tokens may have a negative
// count.
void generate_counts(const MoeMap& p, std::uint64_t seed, void* data) {
  const std::int64_t runs = p.ranks * p.experts;
  const bool all = seed % 4 == 1, too_many = seed % 4 == 3;
  const auto used = static_cast<std::uint64_t>(all ? runs : std::max<std::int64_t>(1, runs - runs / 4));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(runs));
  for (std::int64_t t = 0; t < p.tokens + (too_many ? 10 : 0); ++t) {
    const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(t));
    const std::uint64_t few = seed % 4 == 2 && random % 4 != 0 ? std::max<std::uint64_t>(1, used / 8) : used;
    if (all || too_many || random / 4 % 8 != 0) ++counts[static_cast<std::size_t>((random >> 8) % few)];
  }
  for (std::int64_t run = 0; run < runs; ++run) {
    const std::int64_t count = counts[static_cast<std::size_t>(run)];
    common::write_integer(index_of(p), data, run, count == 0 && too_many ? -5 : count);
  }
}

void generate_mask(const MoeMap& p, const moe::Routes& routes, void* data) {
  std::fill_n(static_cast<std::uint8_t*>(data), p.tokens * map_width(p) * quern::bytes(index_of(p)), std::uint8_t{0});
  for (std::int64_t t = 0; t < p.tokens; ++t) {
    // Bits after the last expert have no meaning.
    if (p.map == MoeMapKind::bits && p.experts % 8 != 0)
      static_cast<std::uint8_t*>(data)[(t + 1) * map_width(p) - 1] = static_cast<std::uint8_t>(0xff << p.experts % 8);
    for (std::int64_t k = 0; k < routes.topk; ++k) {
      const std::int64_t e = routes(t, k);
      if (e < 0) continue;
      if (p.map == MoeMapKind::bits)
        static_cast<std::uint8_t*>(data)[t * map_width(p) + e / 8] |= static_cast<std::uint8_t>(1U << e % 8);
      else
        common::write_integer(index_of(p), data, t * p.experts + e, 1 + (t + e) % 3);
    }
  }
}

}  // namespace

moe::RowRules rules_of(const MoeMap& p, std::int64_t capacity) {
  return {p.experts, p.align, p.empty == MoeEmpty::fill, capacity, p.tail == MoeTail::list};
}

std::int64_t capacity_of(const MoeMap& p) {
  if (p.capacity > 0) return p.capacity;
  return p.tokens == kOpen ? kOpen : moe::most_rows(p.tokens * p.topk, rules_of(p, 0));
}

std::string check_map(const MoeMap& p) {
  if (p.experts < 1 || p.experts > kMaxExperts) return cat("experts must be from 1 to ", kMaxExperts);
  if (p.topk < 1) return "topk=0: a token has no route; give 1 or more";
  if (p.topk > kMostRows || p.global > kMostRows) return "topk and global must be fewer than 2^31";
  if (!is_index(p))
    return cat("index=", name(p.index),
               " is not for this map: ids and counts have i32 or i64, mask has u8 or i32, bits has u8");
  if (has_counts(p) && p.topk != 1) return "map=counts has one route for each token: give topk=1";
  if (!has_counts(p) && p.ranks != 1) return "ranks is of map=counts: leave it out, or give map=counts";
  if (p.ranks < 1 || p.ranks > kMaxRuns / p.experts)
    return cat("ranks must be 1 or more, and ranks times experts at most ", kMaxRuns);
  if (has_mask(p) && p.topk > p.experts) return "topk is more than experts: a mask routes a token to each at most once";
  if (!has_ids(p) && p.global > 0)
    return "global needs map=ids: a mask has a column for each local expert, as counts do";
  if (p.global > 0 && p.global < p.experts) return "global is less than experts; it counts the experts of all devices";
  if (!has_mask(p) && has_row_ids(p)) return "row_id_map=write needs map=mask or bits";
  if (p.capacity > kMostRows) return "capacity must be fewer than 2^31 rows";
  std::int64_t most = 0;
  if (p.tokens == kOpen) return {};
  if (__builtin_mul_overflow(p.tokens, p.topk, &most) || most > kMostRows ||
      moe::most_rows(most, rules_of(p, 0)) > kMostRows)
    return "tokens, topk and the padding are too many: fewer than 2^31 rows";
  return {};
}

bool generate_map(const MoeMap& p, std::string_view operand, std::uint64_t seed, void* data) {
  if (operand == "expert_map") {
    for (std::int64_t i = 0; i < p.global; ++i) {
      const std::int64_t expert = i - (p.global - p.experts);
      static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(std::max<std::int64_t>(expert, -1));
    }
    return true;
  }
  if (operand != "map") return false;
  if (has_counts(p)) return generate_counts(p, seed / kSeedsOfProblem, data), true;
  // A mask may have one route too many.
  const std::int64_t most = has_mask(p) && seed / kSeedsOfProblem % 4 == 3 ? std::min(p.experts, p.topk + 1) : p.topk;
  const moe::Routes routes = moe::generate_routes(p.tokens, p.experts, most, seed / kSeedsOfProblem, has_mask(p));
  if (has_mask(p)) generate_mask(p, routes, data);
  if (!has_mask(p)) generate_ids(p, routes, seed, data);
  return true;
}

void write_map(const MoeMap& p, const MoeMapArgs& a) {
  std::int64_t dropped = 0;
  const moe::Routes routes = read_routes(p, a, &dropped);
  const std::int64_t capacity = capacity_of(p);
  const moe::RowMap map = moe::map_rows(routes, rules_of(p, capacity));
  for (std::int64_t e = 0; e <= p.experts; ++e) {
    if (e < p.experts) common::write_integer(p.offset, a.counts.data, e, map.counts[static_cast<std::size_t>(e)]);
    common::write_integer(p.offset, a.offsets.data, e, map.offsets[static_cast<std::size_t>(e)]);
    if (e < p.experts && has_counts(p))
      common::write_integer(p.offset, a.sizes.data, e,
                            map.offsets[static_cast<std::size_t>(e) + 1] - map.offsets[static_cast<std::size_t>(e)]);
  }
  copy(map.rows, a.token_rows);
  if (has_mask(p)) copy(routes.experts, a.token_experts);
  copy(map.tokens, a.row_tokens);
  if (has_pads(p)) {
    std::vector<std::int32_t> pads = map.pads;
    pads.resize(static_cast<std::size_t>(capacity), -1);
    copy(pads, a.pads);
  }
  auto* const totals = static_cast<std::int32_t*>(a.totals.data);
  totals[0] = static_cast<std::int32_t>(map.offsets.back());
  totals[1] = static_cast<std::int32_t>(map.pads.size());
  totals[2] = static_cast<std::int32_t>(map.dropped + dropped);
  if (has_row_ids(p)) write_row_ids(p, routes, map, static_cast<std::int32_t*>(a.row_id_map.data));
}

}  // namespace quern::moe_map
