// A mask's routes: a warp turns the marks of its tokens into a list of the experts of each, in shared memory. A token
// has a lane for each piece of 16 experts, up to 32; its routes are from its last expert to its first, and those beyond
// the topk-th are dropped.
#ifndef QUERN_MOE_MAP_MASK_CUH_
#define QUERN_MOE_MAP_MASK_CUH_

#include "moe_map/marks.cuh"
#include "moe_map/routes.cuh"

namespace quern::moe_map {

constexpr bool kListsRoutes = true;

constexpr u32 kLanes = spec::lanes, kGroups = spec::groups;  // lanes of a token, which go through its pieces in groups
constexpr u32 kTokens = 32 / kLanes;                         // of a warp at once
// Such tokens whose loads are in flight together: a lane has up to 16 registers of them, half as many where a thread
// has few, and four pieces' marks.
constexpr u32 kRegisters = kThreads > 512 ? 8 : 16, kLoaded = kAccesses * Vector<kAccess>::kWords;
constexpr u32 kPieces = kLoaded * 4 < kRegisters ? 4 : kLoaded < kRegisters ? kRegisters / kLoaded : 1;
constexpr u32 kAhead = kPieces < kGroups ? 1 : kPieces / kGroups;

// Experts of routes, in 16 bits each.
class List {
 public:
  explicit QUERN_DEVICE List(const Params& p) : at_(dynamic_shared() + (p.places.lists + warp() * p.list) * 4) {}
  QUERN_DEVICE u32 get(u32 i) const {
    const u32 expert = load_shared<2>(at_ + i * 2).w[0];
    return expert == 0xffffu ? kNone : expert;
  }
  QUERN_DEVICE void set(u32 i, u32 expert) const {
    store_shared<2>(at_ + i * 2, Vector<2>{{static_cast<u16>(expert)}});
  }

 private:
  u8* at_;
};

QUERN_DEVICE Slice slice_of_warp(const Params& p, const Tokens& tokens) {
  const u32 own = (tokens.count + kCounters - 1) / kCounters, begin = least(warp() * own, tokens.count);
  return {begin * p.topk, least(begin + own, tokens.count) * p.topk};
}

// The sum over this lane and the later ones of the token.
QUERN_DEVICE u32 sum_from_lane(u32 mine) {
#pragma unroll
  for (u32 distance = 1; distance < kLanes; distance *= 2) {
    const u32 above = __shfl_down_sync(kAll, mine, distance, static_cast<int>(kLanes));
    if (lane() % kLanes + distance < kLanes) mine += above;
  }
  return mine;
}

// Lists the experts of a piece from place `k` of the token on; `list_at`: the token's first place.
QUERN_DEVICE void list_marks(const Params& p, const List& list, u32 list_at, u32 k, u32 marks, u32 piece) {
#pragma unroll 1
  for (; marks != 0 && k < p.topk; ++k) {
    const u32 last = 31 - static_cast<u32>(__clz(static_cast<int>(marks)));
    list.set(list_at + k, piece * kPieceExperts + last);
    marks ^= 1u << last;
  }
}

// The marks of kAhead tokens that begin at the warp's token `first` in the block, of `end`. A token has 16 bits for
// each group.
QUERN_DEVICE u64 read_marks(const Params& p, const Tokens& tokens, u32 first, u32 end) {
  u64 marks = 0;
#pragma unroll 1
  for (u32 step = 0; step < kGroups * kParts; ++step) {
    const u32 piece = step / kParts * kLanes + lane() % kLanes, part = piece * kParts + step % kParts;
    Part parts[kAhead];
#pragma unroll
    for (u32 i = 0; i < kAhead; ++i) {
      const u32 token = first + i * kTokens + lane() / kLanes;
      parts[i] = token < end ? load_part(p, tokens.first + token, part) : Part{};
    }
#pragma unroll
    for (u32 i = 0; i < kAhead; ++i)
      marks |= static_cast<u64>(marks_of(p, parts[i], part)) << (16 * kGroups * i + kPartExperts * step);
  }
  return marks;
}

// Lists the routes `first` to `end`, of whole tokens. Returns the routes that this lane dropped.
QUERN_DEVICE u32 list_routes(const Params& p, const Tokens& tokens, const List& list, u32 first, u32 end) {
  const u32 first_token = divide32(first, p.by_topk), end_token = divide32(end, p.by_topk);
  u32 dropped = 0;
#pragma unroll 1
  for (u32 batch = first_token; batch < end_token; batch += kAhead * kTokens) {
    u64 marks = read_marks(p, tokens, batch, end_token);
#pragma unroll 1
    for (u32 token = batch + lane() / kLanes, i = 0; i < kAhead; ++i, token += kTokens, marks >>= 16 * kGroups) {
      const u32 list_at = (token - first_token) * p.topk;
      u32 count = 0;
#pragma unroll
      for (u32 g = kGroups; g-- > 0;) {
        const u32 own = static_cast<u32>(marks >> (16 * g)) & 0xffffu, from_lane = sum_from_lane(popc(own));
        const u32 k = count + from_lane - popc(own);
        list_marks(p, list, list_at, k, own, g * kLanes + lane() % kLanes);
        dropped += popc(own) - least(popc(own), p.topk - least(k, p.topk));
        count += __shfl_sync(kAll, from_lane, 0, static_cast<int>(kLanes));
      }
      if (lane() % kLanes != 0 || token >= end_token) continue;
      for (u32 k = count; k < p.topk; ++k) list.set(list_at + k, 0xffffu);
      if constexpr (spec::row_id_map) put(row_ids(p, tokens.first + token) + 2 * p.experts, least(count, p.topk));
    }
  }
  __syncwarp();
  return dropped;
}

// Calls body(first route, routes of this lane) for each step of the slice. Returns the routes that this lane dropped.
template <class Body>
QUERN_DEVICE u32 for_steps(const Params& p, const Tokens& tokens, const Slice& slice, const Body& body) {
  const List list(p);
  u32 dropped = 0;
#pragma unroll 1
  for (u32 batch = slice.begin; batch < slice.end; batch += p.batch) {
    const u32 end = least(batch + p.batch, slice.end);
    dropped += list_routes(p, tokens, list, batch, end);
#pragma unroll 1
    for (u32 first = batch; first < end; first += kStep) {
      Routes routes = no_routes();
#pragma unroll
      for (int i = 0; i < kRoutes; ++i) {
        if (const u32 route = route_at(first, i); route < end) routes.expert[i] = list.get(route - batch);
      }
      body(first, routes);
    }
    __syncwarp();
  }
  return dropped;
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_MASK_CUH_
