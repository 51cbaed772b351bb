#include "moe/movement.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "base/random.h"
#include "base/text.h"
#include "common/host_types.h"
#include "mx/block_scale.h"
#include "mx/scales.h"

namespace quern::moe {
namespace {

constexpr std::int64_t kMostRows = (std::int64_t{1} << 31) - 1;  // rows are i32
constexpr std::int64_t kMostExperts = 1024;                      // as in moe_map
constexpr std::int64_t kMostRoutes = 1024;                       // of a token
constexpr std::uint64_t kBenchSeed = 1;

// Of a token: a number for each segment of a row and route.
bool sums_fit(const Movement& m) {
  const std::int64_t segments = row_bytes(m) / (kChunkBytes * kChunksOfSegment) + 1;
  return segments <= kMostSumBytes / 4 / m.topk;
}

// Of rows that are quantized as they move.
std::string check_quantization(const Movement& m) {
  if (m.form != Form::dispatch) return "element quantizes rows that move to experts: it needs pass=forward";
  if (bytes(m.dtype) == 1)
    return cat("dtype=", name(m.dtype), " is quantized already: leave element out, or give dtype=f32, f16 or bf16");
  if (m.policy == ScalePolicy::te && (m.scaling != MoeScaling::mx || m.mode != ScaleMode::rceil))
    return "policy=te goes with scaling=mx and mode=rceil";
  if (m.mode == ScaleMode::exact && m.scaling == MoeScaling::mx)
    return "mode=exact is for fp32 scales: scaling=row or block128";
  if (m.blocked && m.scaling != MoeScaling::mx) return "scale_layout=blocked is for scaling=mx";
  if (m.scaling == MoeScaling::none && m.mode != ScaleMode::rceil)
    return "mode is for scales that are made: give scaling=mx, row or block128 too";
  if (m.blocked && m.rules.capacity % 128 != 0)
    return "scale_layout=blocked needs a capacity that is a multiple of 128, so that no atom is cut";
  if (m.blocked && m.rules.align % 128 != 0)
    return "scale_layout=blocked needs an align that is a multiple of 128, so that each expert begins with a new atom";
  return {};
}

// Of factors of rows that move to experts.
std::string check_factors(const Movement& m) {
  if (m.route_factors && !has_factors(m)) return "scale_of=routes needs a scale: f32, f16 or bf16";
  if (!has_factors(m)) return {};
  if (m.dtype != f32 && m.dtype != f16 && m.dtype != bf16)
    return cat("scale multiplies rows of f32, f16 or bf16, not of dtype=", name(m.dtype));
  if (m.route_factors && (m.blocked || scales_rows(m)))
    return "scale_of=routes gives each row scales of its own: with element it needs plain scales of blocks, so give "
           "scaling=mx without scale_layout, scaling=block128, or scale_of=tokens";
  return {};
}

// Row lengths are parameters of 32 bits.
std::string check_row_length(const Movement& m) {
  if (m.hidden <= std::numeric_limits<std::uint32_t>::max() / bytes(m.dtype)) return {};
  return "hidden is too large: a row must have fewer than 2^32 bytes";
}

std::string check_rows(const Movement& m) {
  if (m.rules.capacity > kMostRows) return "capacity must be fewer than 2^31 rows";
  if (m.tokens == kOpen) return check_row_length(m);
  if (m.tokens > kMostRows / m.topk || capacity_of(m) > kMostRows)
    return "tokens, topk and the padding are too many: fewer than 2^31 rows";
  std::int64_t all = 0;
  if (__builtin_mul_overflow(std::max(m.tokens, capacity_of(m)), std::max<std::int64_t>(1, m.hidden), &all) ||
      all > kMaxExtent)
    return "hidden is too large for this many rows: at most 2^46 elements";
  return check_row_length(m);
}

// The routing that all operands of a problem are of, and its map.
Routes generated_routes(const Movement& m, std::uint64_t seed) {
  return generate_routes(m.tokens, m.rules.experts, m.topk, seed / kSeedsOfProblem, false);
}
RowMap generated_map(const Movement& m, std::uint64_t seed) {
  RowRules rules = m.rules;
  rules.capacity = capacity_of(m);
  return map_rows(generated_routes(m, seed), rules);
}

void copy(const std::vector<std::int32_t>& from, void* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(std::int32_t));
}

void write_list(DType type, const std::vector<std::int64_t>& values, void* data) {
  for (std::size_t i = 0; i < values.size(); ++i)
    common::write_integer(type, data, static_cast<std::int64_t>(i), values[i]);
}

// In benchmarks all rows are of chunks, of about the same size. Else one of four chunks is empty, and there may be rows
// after the last.
std::vector<std::int64_t> chunk_sizes(const Movement& m, std::uint64_t seed) {
  const bool bench = seed % 4 == 1;
  const std::int64_t rows = bench || m.tokens == 0 || seed % 4 == 2
                                ? m.tokens
                                : static_cast<std::int64_t>(random_at(seed, 0) % static_cast<std::uint64_t>(m.tokens));
  std::vector<std::int64_t> ends(static_cast<std::size_t>(m.chunks), rows);
  for (std::size_t c = 0; c + 1 < ends.size(); ++c) {
    const auto even = static_cast<std::int64_t>(static_cast<double>(rows) * static_cast<double>(c + 1) /
                                                static_cast<double>(m.chunks));
    ends[c] = bench ? even : static_cast<std::int64_t>(random_at(seed, c + 1) % static_cast<std::uint64_t>(rows + 1));
    if (!bench && c > 0 && random_at(seed, c + 1) % 4 == 0) ends[c] = ends[c - 1];
  }
  std::sort(ends.begin(), ends.end());
  std::vector<std::int64_t> sizes;
  for (std::size_t c = 0; c < ends.size(); ++c) sizes.push_back(ends[c] - (c == 0 ? 0 : ends[c - 1]));
  return sizes;
}

std::vector<std::int64_t> chunk_order(const Movement& m, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(m.chunks));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_at(~seed, i) % i]);
  return order;
}

// Of these a dot product is still a number in most rows: one of 16 has an infinity, a NaN or a denormal.
template <class T>
void fill_row(T* row, std::int64_t hidden, std::uint64_t seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kOdd[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), 1e-40};
  for (std::int64_t i = 0; i < hidden; ++i) {
    const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(i));
    row[i] = common::from_compute<T>(static_cast<float>(static_cast<double>(random >> 11) * 0x1p-50 - 4.0));
  }
  const std::uint64_t random = random_at(seed, ~std::uint64_t{0});
  if (hidden > 0 && random % 16 == 0)
    row[random / 16 % static_cast<std::uint64_t>(hidden)] =
        common::from_compute<T>(static_cast<float>(kOdd[random >> 62]));
}

void fill_rows(const Movement& m, std::int64_t rows, std::uint64_t seed, void* data) {
  common::with_float(m.dtype, [&](auto x) {
    using T = decltype(x);
    if constexpr (!std::is_same_v<T, double>) {
      parallel_for(rows, 1 + (1 << 16) / std::max<std::int64_t>(1, m.hidden),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row)
                       fill_row(static_cast<T*>(data) + row * m.hidden, m.hidden,
                                random_at(seed, static_cast<std::uint64_t>(row)));
                   });
    }
  });
}

// Rows to quantize: 32 elements of one magnitude, some at an edge of rounding, in one of 8 blocks some not finite. One
// such number makes a whole row NaN that shares a scale: then in one of 8 rows.
void fill_blocks(const Movement& m, std::uint64_t seed, void* data) {
  common::with_float(m.dtype, [&](auto x) {
    using T = decltype(x);
    if constexpr (sizeof(T) == 2 || std::is_same_v<T, float>) {
      parallel_for(
          m.tokens, 1 + (1 << 16) / std::max<std::int64_t>(1, m.hidden), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin * m.hidden; i < end * m.hidden; ++i) {
              const std::uint64_t block = random_at(seed, static_cast<std::uint64_t>(i / 32));
              const std::uint64_t sharing =
                  scales_rows(m) ? random_at(seed + 2, static_cast<std::uint64_t>(i / m.hidden)) : block;
              const int exponent =
                  std::is_same_v<T, common::Fp16> ? 112 + static_cast<int>(block % 32) : static_cast<int>(block % 256);
              const std::uint64_t random = random_at(seed + 1, static_cast<std::uint64_t>(i));
              static_cast<T*>(data)[i] =
                  mx::number_near<T>(exponent, random, (sharing >> 20 & 7) == 0 && (random >> 40) % 64 == 0);
            }
          });
    }
  });
}

}  // namespace

std::int64_t capacity_of(const Movement& m) {
  if (m.rules.capacity > 0) return m.rules.capacity;
  return m.tokens == kOpen ? kOpen : most_rows(m.tokens * m.topk, m.rules);
}

namespace {

mx::ScaleGrid scale_grid(const Movement& m) {
  mx::ScaleGrid grid{};
  grid.experts = 1;
  grid.rows = capacity_of(m);
  grid.cols = m.hidden;
  grid.block = block_length(m);
  grid.type = scale_type(m);
  return grid;
}

}  // namespace

std::int64_t made_scale_index(const Movement& m, std::int64_t row, std::int64_t block) {
  return m.blocked ? mx::blocked_index(scale_grid(m), 0, row, block) : row * scales_of_row(m) + block;
}

Layout made_scales(const Movement& m) {
  if (!m.blocked || capacity_of(m) == kOpen) return scales_matrix(m, capacity_of(m));
  return mx::blocked_layout(scale_grid(m));
}

Layout token_scales_layout(const Movement& m) {
  if (!m.blocked) return absent();
  return Layout::matrix(e8m0, m.tokens, made_scales_of_row(m), made_scales_of_row(m));
}

Layout workspace_layout(const Movement& m) {
  if (!m.blocked) return absent();
  return Layout::list(i32, capacity_of(m) == kOpen ? kOpen : kCountWords + capacity_of(m));
}

std::string check_movement(const Movement& m) {
  if (m.rules.experts < 1 || m.rules.experts > kMostExperts)
    return cat("experts must be from 1 to ", kMostExperts, ", as in moe_map");
  if (m.topk < 1 || m.topk > kMostRoutes) return cat("topk must be from 1 to ", kMostRoutes, " routes of a token");
  if (!moves_bits(m) && m.dtype != f32 && m.dtype != f16 && m.dtype != bf16)
    return cat(
        "dtype=", name(m.dtype),
        " can only be moved, not added up: give f32, f16 or bf16, or the pass that moves rows to experts without "
        "factors");
  if (m.dense && !has_probs(m)) return "prob_layout is of probabilities: give probs=f32, f16 or bf16 too";
  if (has_dots(m) && !sums_fit(m))
    return "hidden times topk is too large for the gradient of probs or scale: at most 24 MB of rows of a token";
  if (!quantizes(m) && (m.blocked || m.mode != ScaleMode::rceil || m.policy != ScalePolicy::ao))
    return "mode, policy and scale_layout are of rows that are quantized: give element=e4m3 or e5m2 too";
  if (quantizes(m)) {
    const std::string refusal = check_quantization(m);
    if (!refusal.empty()) return refusal;
  }
  if (const std::string refusal = check_factors(m); !refusal.empty()) return refusal;
  if (m.scaling != MoeScaling::none && !quantizes(m) && (!moves_bits(m) || bytes(m.dtype) != 1))
    return "scaling moves the scales of quantized rows: it needs dtype=e4m3, e5m2 or u8, and the pass that moves rows "
           "to experts, or chunk_sort. To quantize rows as moe_permute moves them, give element=e4m3 or e5m2 too";
  return check_rows(m);
}

bool generate_movement(const Movement& m, std::string_view operand, std::uint64_t seed, void* data) {
  if (operand == "sizes") return write_list(m.index, chunk_sizes(m, seed / kSeedsOfProblem), data), true;
  if (operand == "order") return write_list(m.index, chunk_order(m, seed / kSeedsOfProblem), data), true;
  if (operand == "token_rows") return copy(generated_map(m, seed).rows, data), true;
  if (operand == "token_experts") return copy(generated_routes(m, seed).experts, data), true;
  if (operand == "pads") {
    std::vector<std::int32_t> pads = generated_map(m, seed).pads;
    pads.resize(static_cast<std::size_t>(capacity_of(m)), -1);
    return copy(pads, data), true;
  }
  if (operand == "source" && quantizes(m)) return fill_blocks(m, seed, data), true;
  if (operand == "given_scale") {
    const float scale = mx::given_scale(seed);
    std::memcpy(data, &scale, sizeof(scale));
    return true;
  }
  if (!has_dots(m) || (operand != "source" && operand != "rows")) return false;
  const bool of_tokens = (operand == "rows") == (m.form == Form::factor_gradient);
  return fill_rows(m, of_tokens ? m.tokens : capacity_of(m), seed, data), true;
}

std::int64_t moved_bytes(const Movement& m) {
  const RowMap map = generated_map(m, kBenchSeed * kSeedsOfProblem);
  const std::int64_t routes =
      std::count_if(map.rows.begin(), map.rows.end(), [](std::int32_t row) { return row >= 0; });
  const std::int64_t pads = clears_pads(m) ? static_cast<std::int64_t>(map.pads.size()) : 0;
  const std::int64_t of_tokens = m.tokens * (m.residual || m.form == Form::factor_gradient ? 2 : 1);
  const std::int64_t of_routes = routes * (m.form == Form::combine_gradient ? 2 : 1);
  // Probabilities are read of routes; where they move they are written as well, as gradients are.
  const bool twice = has_probs(m) && (!m.weighted || m.form == Form::combine_gradient);
  const std::int64_t read_probs = m.tokens * m.topk;
  const std::int64_t written_probs = m.dense && collects_probs(m) ? m.tokens * m.rules.experts : twice ? read_probs : 0;
  const std::int64_t probs = (read_probs + written_probs) * bytes(m.probs) + (m.dense ? read_probs * 4 : 0);
  const std::int64_t scales = m.scaling == MoeScaling::none ? 0 : scales_of_row(m) * bytes(scale_type(m));
  const std::int64_t read = row_bytes(m) + (quantizes(m) ? 0 : scales), written = out_row_bytes(m) + scales;
  const std::int64_t of_map = m.form == Form::reorder ? 2 * m.chunks * bytes(m.index) : (m.tokens * m.topk + pads) * 4;
  const std::int64_t factors = m.tokens * (m.route_factors ? m.topk : 1) * bytes(m.factors);
  return factors + of_tokens * read + (of_routes + pads) * written + probs + of_map;
}

}  // namespace quern::moe
