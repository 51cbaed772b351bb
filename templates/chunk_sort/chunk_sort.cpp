#include "chunk_sort/chunk_sort.h"

#include "moe/choice_names.h"
#include "moe/movement_step.h"
#include "quern_embedded/chunk_sort.h"

namespace quern {
namespace {

using namespace moe;

Movement movement_of(const ChunkSort& p) {
  Movement m{};
  m.form = Form::reorder;
  m.dtype = p.dtype;
  m.probs = p.probs;
  m.scaling = p.scaling;
  m.tokens = p.rows;
  m.hidden = p.hidden;
  m.topk = 1;
  m.rules = {1, 1, false, 0, false};
  m.backward = p.pass == MoePass::backward;
  m.index = p.index;
  m.chunks = p.chunks;
  return m;
}

Operands operands_of(const ChunkSortArgs& a) {
  Operands o;
  o.source = a.source.data;
  o.probs = a.probs.data;
  o.out = a.out.data;
  o.out_probs = a.out_probs.data;
  o.scales = a.scales.data;
  o.out_scales = a.out_scales.data;
  o.sizes = a.sizes.data;
  o.order = a.order.data;
  return o;
}

Layout rows_layout(const ChunkSort& p) { return token_matrix(movement_of(p)); }
Layout chunks_layout(const ChunkSort& p) { return Layout::list(p.index, p.chunks); }
Layout probs_layout(const ChunkSort& p) { return of_rows(movement_of(p), p.probs); }
Layout scales_layout(const ChunkSort& p) { return scales_matrix(movement_of(p), p.rows); }

template <Layout (*F)(const ChunkSort&)>
constexpr auto layout = &layout_of<ChunkSort, F>;

// In the order of kOperands.
enum OperandNumber { kSource, kSizes, kOrder, kProbs, kOut, kOutProbs, kScales, kOutScales };

struct ChunkSortFamily : MovementStep<ChunkSort, ChunkSortArgs, movement_of, operands_of> {
  static constexpr const char* kName = "chunk_sort";
  static constexpr const char* kSentence = "chunks of rows in another order, and the gradient";

  static constexpr Field kFields[] = {
      extent_field("rows", offsetof(ChunkSort, rows), true, "rows of source and out"),
      extent_field("hidden", offsetof(ChunkSort, hidden), false, "elements in a row"),
      extent_field("chunks", offsetof(ChunkSort, chunks), false, "chunks of adjacent rows, up to 4096"),
      choice_field("pass", offsetof(ChunkSort, pass), kPasses, "backward: the gradient, in the order of the source"),
      dtype_field("dtype", offsetof(ChunkSort, dtype), kMovedTypes, "element type of source and out"),
      dtype_field("probs", offsetof(ChunkSort, probs), kProbTypes,
                  "type of a number for each row, which moves with it; none: there are none"),
      choice_field("scaling", offsetof(ChunkSort, scaling), kScalings,
                   "of e4m3, e5m2 and u8: scales that move with the rows"),
      dtype_field("index", offsetof(ChunkSort, index), only(i32) | only(i64), "type of sizes and order"),
  };
  static constexpr Operand kOperands[] = {
      {"source", Role::input, offsetof(ChunkSortArgs, source), true, layout<rows_layout>, "[rows, hidden]",
       "the rows; backward: the gradient of out"},
      {"sizes", Role::input, offsetof(ChunkSortArgs, sizes), false, layout<chunks_layout>, "[chunks]",
       "the rows of each chunk"},
      {"order", Role::input, offsetof(ChunkSortArgs, order), false, layout<chunks_layout>, "[chunks]",
       "which chunk comes first, second, and so on"},
      {"probs", Role::input, offsetof(ChunkSortArgs, probs), false, layout<probs_layout>, "[rows]",
       "a number for each row"},
      {"out", Role::output, offsetof(ChunkSortArgs, out), true, layout<rows_layout>, "[rows, hidden]",
       "the rows in the new order; backward: the gradient of source"},
      {"out_probs", Role::output, offsetof(ChunkSortArgs, out_probs), false, layout<probs_layout>, "[rows]",
       "the numbers in the new order"},
      {"scales", Role::input, offsetof(ChunkSortArgs, scales), true, layout<scales_layout>,
       "[rows, scales]; row: 1, block128: ceil(hidden / 128), mx: ceil(hidden / 32)", "scaling: the scales of source"},
      {"out_scales", Role::output, offsetof(ChunkSortArgs, out_scales), true, layout<scales_layout>, "[rows, scales]",
       "scaling: the scales of out"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"rows", offsetof(ChunkSortArgs, rows), nullptr}};
  static constexpr const char* kBenchCases[] = {
      "chunk_sort rows=32768 hidden=7168 chunks=64",
      "chunk_sort rows=32768 hidden=7168 chunks=64 pass=backward",
      "chunk_sort rows=8192 hidden=4096 chunks=64 probs=f32",
      "chunk_sort rows=32768 hidden=7168 chunks=2048",
      "chunk_sort rows=32768 hidden=7168 chunks=64 dtype=e4m3 scaling=mx",
      "chunk_sort rows=512 hidden=4096 chunks=32",
  };
  // Local experts times ranks, and rows of models.
  static constexpr const char* kDraws[] = {
      "rows=1..131072",
      "hidden=64..16384/64",
      "chunks=2..2048",
      "pass=forward | pass=forward probs=f32 | pass=backward | pass=backward probs=f32",
      "dtype=bf16 | dtype=bf16 | dtype=e4m3 scaling=mx | dtype=e4m3 scaling=block128",
  };

  static Table<SourceFile> sources() { return embedded::chunk_sort_sources(); }

  static std::string check(const ChunkSort& p) {
    if (p.chunks < 1 || p.chunks > kMostChunks) return "chunks must be from 1 to 4096";
    if (p.rows != kOpen && p.rows >= std::int64_t{1} << 31) return "rows must be fewer than 2^31";
    return check_movement(movement_of(p));
  }

  static std::uint32_t alignment(const ChunkSort& p, int operand, const Config& config) {
    if (operand == kScales || operand == kOutScales) return scales_alignment(movement_of(p), config);
    return rows_alignment(movement_of(p), config);
  }

  static bool generate(const ChunkSort& p, int operand, std::uint64_t seed, void* data) {
    return generate_movement(movement_of(p), kOperands[operand].name, seed, data);
  }
};

}  // namespace

const Family& ChunkSort::family() {
  static const Family family = make_family<ChunkSortFamily>();
  return family;
}

}  // namespace quern
