#include "moe_unpermute/moe_unpermute.h"

#include "moe/choice_names.h"
#include "moe/movement_step.h"
#include "quern_embedded/moe_unpermute.h"

namespace quern {
namespace {

using namespace moe;

bool is_forward(const MoeUnpermute& p) { return p.pass == MoePass::forward; }

Movement movement_of(const MoeUnpermute& p) {
  const Form backward = p.probs == DType::none ? Form::dispatch : Form::combine_gradient;
  Movement m{};
  m.form = is_forward(p) ? Form::combine : backward;
  m.weighted = true;
  m.residual = p.residual == MoeResidual::add;
  m.dtype = p.dtype;
  m.probs = p.probs;
  m.dense = p.prob_layout == MoeProbLayout::experts;
  m.scaling = p.scaling;
  m.tokens = p.tokens;
  m.hidden = p.hidden;
  m.topk = p.topk;
  m.rules = {p.experts, p.align, p.empty == MoeEmpty::fill, p.capacity, p.tail == MoeTail::list};
  return m;
}

Operands operands_of(const MoeUnpermuteArgs& a) {
  Operands o;
  o.source = a.source.data;
  o.token_rows = a.token_rows.data;
  o.token_experts = a.token_experts.data;
  o.pads = a.pads.data;
  o.probs = a.probs.data;
  o.out = a.out.data;
  o.out_probs = a.out_probs.data;
  o.rows = a.rows.data;
  o.residual = a.residual.data;
  o.scales = a.scales.data;
  o.out_scales = a.out_scales.data;
  return o;
}

bool has_gradient(const MoeUnpermute& p) { return !is_forward(p) && p.probs != DType::none; }

Layout source_layout(const MoeUnpermute& p) {
  const Movement m = movement_of(p);
  return is_forward(p) ? row_matrix(m) : token_matrix(m);
}
Layout out_layout(const MoeUnpermute& p) {
  const Movement m = movement_of(p);
  return is_forward(p) ? token_matrix(m) : row_matrix(m);
}
Layout token_rows_layout(const MoeUnpermute& p) { return of_routes(movement_of(p), i32); }
Layout token_experts_layout(const MoeUnpermute& p) { return experts_of_routes(movement_of(p)); }
Layout pads_layout(const MoeUnpermute& p) {
  const Movement m = movement_of(p);
  return of_rows(m, clears_pads(m) ? i32 : DType::none);
}
Layout probs_layout(const MoeUnpermute& p) { return of_tokens(movement_of(p), p.probs); }
Layout out_probs_layout(const MoeUnpermute& p) {
  return of_tokens(movement_of(p), has_gradient(p) ? p.probs : DType::none);
}
Layout rows_layout(const MoeUnpermute& p) { return has_gradient(p) ? row_matrix(movement_of(p)) : absent(); }
Layout residual_layout(const MoeUnpermute& p) {
  return p.residual == MoeResidual::add ? token_matrix(movement_of(p)) : absent();
}

Layout scales_layout(const MoeUnpermute& p) { return scales_matrix(movement_of(p), p.tokens); }
Layout out_scales_layout(const MoeUnpermute& p) {
  const Movement m = movement_of(p);
  return scales_matrix(m, capacity_of(m));
}

template <Layout (*F)(const MoeUnpermute&)>
constexpr auto layout = &layout_of<MoeUnpermute, F>;

// In the order of kOperands.
enum OperandNumber {
  kSource,
  kTokenRows,
  kPads,
  kProbs,
  kOut,
  kOutProbs,
  kRows,
  kResidual,
  kScales,
  kOutScales,
  kTokenExperts
};

struct MoeUnpermuteFamily : MovementStep<MoeUnpermute, MoeUnpermuteArgs, movement_of, operands_of> {
  static constexpr const char* kName = "moe_unpermute";
  static constexpr const char* kSentence = "rows of experts, added up for each token, and the gradients";

  static constexpr Field kFields[] = {
      extent_field("tokens", offsetof(MoeUnpermute, tokens), true, "tokens"),
      extent_field("hidden", offsetof(MoeUnpermute, hidden), false, "elements in a row"),
      extent_field("experts", offsetof(MoeUnpermute, experts), false, "local experts, up to 1024"),
      extent_field("topk", offsetof(MoeUnpermute, topk), false, "the most routes of a token"),
      integer_field("align", offsetof(MoeUnpermute, align), 1, std::int64_t{1} << 30,
                    "the rows of an expert are a multiple of it"),
      choice_field("empty", offsetof(MoeUnpermute, empty), kEmpty, "fill: an expert without routes has align rows"),
      extent_field("capacity", offsetof(MoeUnpermute, capacity), false, "rows; 0: enough for any routing"),
      choice_field("tail", offsetof(MoeUnpermute, tail), kTails,
                   "list: unused rows after the last expert have a gradient of zeros too"),
      choice_field("pass", offsetof(MoeUnpermute, pass), kPasses, "backward: the gradients"),
      dtype_field("dtype", offsetof(MoeUnpermute, dtype), kMovedTypes,
                  "element type of source and out; e4m3, e5m2 and u8: backward without probs"),
      dtype_field("probs", offsetof(MoeUnpermute, probs), kProbTypes,
                  "type of a factor for each row in the sum; none: 1"),
      choice_field("prob_layout", offsetof(MoeUnpermute, prob_layout), kProbLayouts,
                   "of probs; routes: [tokens, topk], experts: [tokens, experts]"),
      choice_field("residual", offsetof(MoeUnpermute, residual), kResiduals,
                   "add: forward, a row is added to each sum"),
      choice_field("scaling", offsetof(MoeUnpermute, scaling), kScalings,
                   "backward without probs, of e4m3, e5m2 and u8: scales that move with the rows"),
  };
  static constexpr Operand kOperands[] = {
      {"source", Role::input, offsetof(MoeUnpermuteArgs, source), true, layout<source_layout>,
       "[capacity, hidden]; backward: [tokens, hidden]", "the rows of experts; backward: the gradient of out"},
      {"token_rows", Role::input, offsetof(MoeUnpermuteArgs, token_rows), true, layout<token_rows_layout>,
       "[tokens, topk]", "the row of each route, or -1"},
      {"pads", Role::input, offsetof(MoeUnpermuteArgs, pads), false, layout<pads_layout>, "[capacity]",
       "backward, with align > 1, empty=fill or tail=list: padding rows, then -1"},
      {"probs", Role::input, offsetof(MoeUnpermuteArgs, probs), true, layout<probs_layout>,
       "[tokens, topk] or [tokens, experts]", "a factor for each row in the sum"},
      {"out", Role::output, offsetof(MoeUnpermuteArgs, out), true, layout<out_layout>,
       "[tokens, hidden]; backward: [capacity, hidden]", "the sums; backward: the gradient of source"},
      {"out_probs", Role::output, offsetof(MoeUnpermuteArgs, out_probs), false, layout<out_probs_layout>,
       "[tokens, topk] or [tokens, experts]", "backward with probs: their gradient"},
      {"rows", Role::input, offsetof(MoeUnpermuteArgs, rows), true, layout<rows_layout>, "[capacity, hidden]",
       "backward with probs: the forward's source"},
      {"residual", Role::input, offsetof(MoeUnpermuteArgs, residual), true, layout<residual_layout>, "[tokens, hidden]",
       "residual=add: what is added to the sums"},
      {"scales", Role::input, offsetof(MoeUnpermuteArgs, scales), true, layout<scales_layout>,
       "[tokens, scales]; row: 1, block128: hidden / 128, mx: hidden / 32", "scaling: the scales of source"},
      {"out_scales", Role::output, offsetof(MoeUnpermuteArgs, out_scales), true, layout<out_scales_layout>,
       "[capacity, scales]", "scaling: the scales of out"},
      {"token_experts", Role::input, offsetof(MoeUnpermuteArgs, token_experts), true, layout<token_experts_layout>,
       "[tokens, topk]", "prob_layout=experts: the expert of each route"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"tokens", offsetof(MoeUnpermuteArgs, tokens), nullptr}};
  static constexpr const char* kBenchCases[] = {
      "moe_unpermute tokens=4096 experts=256 hidden=7168 topk=8 align=16 probs=f32",
      "moe_unpermute tokens=16384 experts=128 hidden=4096 topk=6 align=16 probs=f32",
      "moe_unpermute tokens=16384 experts=4 hidden=7168 topk=1 align=16 probs=f32",
      "moe_unpermute tokens=4096 experts=128 hidden=7168 topk=8 align=16 probs=f32",
      "moe_unpermute tokens=4096 experts=8 hidden=1280 topk=2 align=16 probs=f32",
      "moe_unpermute tokens=512 experts=8 hidden=4096 topk=2 align=16 probs=f32",
      "moe_unpermute tokens=4096 experts=256 hidden=7168 topk=8 align=16",
      "moe_unpermute tokens=4096 experts=256 hidden=7168 topk=8 align=16 probs=f32 pass=backward",
      "moe_unpermute tokens=16384 experts=128 hidden=4096 topk=6 align=16 probs=f32 pass=backward",
      "moe_unpermute tokens=16384 experts=4 hidden=7168 topk=1 align=16 probs=f32 pass=backward",
      "moe_unpermute tokens=4096 experts=128 hidden=7168 topk=8 align=16 probs=f32 pass=backward",
      "moe_unpermute tokens=4096 experts=8 hidden=1280 topk=2 align=16 probs=f32 pass=backward",
      "moe_unpermute tokens=512 experts=8 hidden=4096 topk=2 align=16 probs=f32 pass=backward",
      "moe_unpermute tokens=4096 experts=256 hidden=7168 topk=8 align=16 pass=backward",
  };
  // Rows of models, of a decoding step and of a prompt.
  static constexpr const char* kDraws[] = {
      "tokens=1..65536",
      "experts=2..512",
      "hidden=64..16384/64",
      "topk=1..16",
      "align=1 | align=16 | align=128",
      "pass=forward probs=f32 | pass=forward | pass=backward probs=f32 | pass=backward",
  };

  static Table<SourceFile> sources() { return embedded::moe_unpermute_sources(); }

  static std::string check(const MoeUnpermute& p) {
    if (!is_forward(p) && p.residual == MoeResidual::add)
      return "residual=add is for pass=forward: the gradient of the residual is that of out";
    return check_movement(movement_of(p));
  }

  static std::uint32_t alignment(const MoeUnpermute& p, int operand, const Config& config) {
    const Movement m = movement_of(p);
    if (operand == kTokenRows || operand == kTokenExperts) return routes_alignment(m, config, 4);
    if (operand == kProbs) return probs_alignment(m, config);
    if (operand == kScales || operand == kOutScales) return scales_alignment(m, config);
    return rows_alignment(m, config);
  }

  static bool generate(const MoeUnpermute& p, int operand, std::uint64_t seed, void* data) {
    return generate_movement(movement_of(p), kOperands[operand].name, seed, data);
  }
};

}  // namespace

const Family& MoeUnpermute::family() {
  static const Family family = make_family<MoeUnpermuteFamily>();
  return family;
}

}  // namespace quern
