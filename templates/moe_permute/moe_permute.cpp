#include "moe_permute/moe_permute.h"

#include "moe/choice_names.h"
#include "moe/movement_step.h"
#include "mx/choice_names.h"
#include "quern_embedded/moe_permute.h"

namespace quern {
namespace {

using namespace moe;

bool is_forward(const MoePermute& p) { return p.pass == MoePass::forward; }

Movement movement_of(const MoePermute& p) {
  Movement m{};
  m.form = is_forward(p) ? Form::dispatch : p.scale == DType::none ? Form::combine : Form::factor_gradient;
  m.dtype = p.dtype;
  m.probs = p.probs;
  m.dense = p.prob_layout == MoeProbLayout::experts;
  m.scaling = p.scaling;
  m.element = p.element;
  m.mode = p.mode;
  m.policy = p.policy;
  m.blocked = p.scale_layout == MxScaleLayout::blocked;
  m.factors = p.scale;
  m.route_factors = p.scale_of == MoeScaleOf::routes;
  m.tokens = p.tokens;
  m.hidden = p.hidden;
  m.topk = p.topk;
  m.rules = {p.experts, p.align, p.empty == MoeEmpty::fill, p.capacity, p.tail == MoeTail::list};
  return m;
}

Operands operands_of(const MoePermuteArgs& a) {
  Operands o;
  o.source = a.source.data;
  o.token_rows = a.token_rows.data;
  o.token_experts = a.token_experts.data;
  o.pads = a.pads.data;
  o.probs = a.probs.data;
  o.out = a.out.data;
  o.out_probs = a.out_probs.data;
  o.scales = a.scales.data;
  o.out_scales = a.out_scales.data;
  o.given_scale = a.given_scale.data;
  o.token_scales = a.token_scales.data;
  o.workspace = a.workspace.data;
  o.factors = a.scale.data;
  o.rows = a.rows.data;
  o.out_factors = a.scale_gradient.data;
  return o;
}

Layout source_layout(const MoePermute& p) {
  const Movement m = movement_of(p);
  return is_forward(p) ? token_matrix(m) : row_matrix(m);
}
Layout out_layout(const MoePermute& p) {
  const Movement m = movement_of(p);
  return is_forward(p) ? Layout::matrix(out_type(m), capacity_of(m), p.hidden, p.hidden) : token_matrix(m);
}
Layout token_rows_layout(const MoePermute& p) { return of_routes(movement_of(p), i32); }
Layout token_experts_layout(const MoePermute& p) { return experts_of_routes(movement_of(p)); }
Layout pads_layout(const MoePermute& p) {
  const Movement m = movement_of(p);
  return of_rows(m, clears_pads(m) ? i32 : DType::none);
}
Layout probs_layout(const MoePermute& p) {
  const Movement m = movement_of(p);
  return is_forward(p) ? of_tokens(m, p.probs) : of_rows(m, p.probs);
}
Layout out_probs_layout(const MoePermute& p) {
  const Movement m = movement_of(p);
  return is_forward(p) ? of_rows(m, p.probs) : of_tokens(m, p.probs);
}

Layout scales_layout(const MoePermute& p) {
  const Movement m = movement_of(p);
  return quantizes(m) ? absent() : scales_matrix(m, p.tokens);
}
Layout given_scale_layout(const MoePermute& p) {
  const Movement m = movement_of(p);
  return Layout::list(has_given_scale(m) ? f32 : DType::none, 1);
}
Layout out_scales_layout(const MoePermute& p) {
  const Movement m = movement_of(p);
  return quantizes(m) ? made_scales(m) : scales_matrix(m, capacity_of(m));
}

Layout scale_layout(const MoePermute& p) {
  const Movement m = movement_of(p);
  return m.route_factors ? of_routes(m, p.scale) : Layout::list(p.scale, p.tokens);
}

bool has_factor_gradient(const MoePermute& p) { return !is_forward(p) && p.scale != DType::none; }
Layout rows_layout(const MoePermute& p) { return has_factor_gradient(p) ? token_matrix(movement_of(p)) : absent(); }
Layout scale_gradient_layout(const MoePermute& p) { return has_factor_gradient(p) ? scale_layout(p) : absent(); }

Layout of_token_scales(const MoePermute& p) { return token_scales_layout(movement_of(p)); }
Layout of_workspace(const MoePermute& p) { return workspace_layout(movement_of(p)); }

template <Layout (*F)(const MoePermute&)>
constexpr auto layout = &layout_of<MoePermute, F>;

// In the order of kOperands.
enum OperandNumber {
  kSource,
  kTokenRows,
  kPads,
  kProbs,
  kOut,
  kOutProbs,
  kScales,
  kOutScales,
  kGivenScale,
  kTokenExperts,
  kTokenScales,
  kWorkspace,
  kScale
};

struct MoePermuteFamily : MovementStep<MoePermute, MoePermuteArgs, movement_of, operands_of> {
  static constexpr const char* kName = "moe_permute";
  static constexpr const char* kSentence = "rows of tokens, copied to the rows of their experts, and the gradient";

  static constexpr Field kFields[] = {
      extent_field("tokens", offsetof(MoePermute, tokens), true, "tokens"),
      extent_field("hidden", offsetof(MoePermute, hidden), false, "elements in a row"),
      extent_field("experts", offsetof(MoePermute, experts), false, "local experts, up to 1024"),
      extent_field("topk", offsetof(MoePermute, topk), false, "the most routes of a token"),
      integer_field("align", offsetof(MoePermute, align), 1, std::int64_t{1} << 30,
                    "the rows of an expert are a multiple of it"),
      choice_field("empty", offsetof(MoePermute, empty), kEmpty, "fill: an expert without routes has align rows"),
      extent_field("capacity", offsetof(MoePermute, capacity), false, "rows; 0: enough for any routing"),
      choice_field("tail", offsetof(MoePermute, tail), kTails, "list: unused rows after the last expert are zeros too"),
      choice_field("pass", offsetof(MoePermute, pass), kPasses, "backward: the gradient"),
      dtype_field("dtype", offsetof(MoePermute, dtype), kMovedTypes,
                  "element type of source and out; backward: f32, f16 or bf16"),
      dtype_field("probs", offsetof(MoePermute, probs), kProbTypes,
                  "type of a probability for each route, which moves with its row; none: there are none"),
      choice_field("prob_layout", offsetof(MoePermute, prob_layout), kProbLayouts,
                   "of probs; routes: [tokens, topk], experts: [tokens, experts]"),
      choice_field("scaling", offsetof(MoePermute, scaling), kScalings,
                   "forward, of e4m3, e5m2 and u8: scales that move with the rows; with element: scales that are made"),
      dtype_field("element", offsetof(MoePermute, element), only(DType::none) | only(e4m3) | only(e5m2),
                  "forward: element type of out, to which rows are quantized; none: they are not"),
      choice_field("mode", offsetof(MoePermute, mode), kScaleModes, "with element: how scales are rounded"),
      choice_field("policy", offsetof(MoePermute, policy), kScalePolicies,
                   "with element: what becomes of a NaN or an infinity"),
      choice_field("scale_layout", offsetof(MoePermute, scale_layout), mx::kScaleLayouts,
                   "with element and scaling=mx: blocked, as block-scaled matrix products read scales"),
      dtype_field("scale", offsetof(MoePermute, scale), kProbTypes,
                  "of f32, f16 and bf16: type of a factor for each row; none: there are none"),
      choice_field("scale_of", offsetof(MoePermute, scale_of), kScalesOf, "a factor for each token, or each route"),
  };
  static constexpr Operand kOperands[] = {
      {"source", Role::input, offsetof(MoePermuteArgs, source), true, layout<source_layout>,
       "[tokens, hidden]; backward: [capacity, hidden]", "the rows of tokens; backward: the gradient of out"},
      {"token_rows", Role::input, offsetof(MoePermuteArgs, token_rows), true, layout<token_rows_layout>,
       "[tokens, topk]", "the row of each route, or -1"},
      {"pads", Role::input, offsetof(MoePermuteArgs, pads), false, layout<pads_layout>, "[capacity]",
       "forward, with align > 1, empty=fill or tail=list: padding rows, then -1"},
      {"probs", Role::input, offsetof(MoePermuteArgs, probs), true, layout<probs_layout>,
       "[tokens, topk] or [tokens, experts]; backward: [capacity]",
       "a probability for each route; backward: the gradient of out_probs"},
      {"out", Role::output, offsetof(MoePermuteArgs, out), true, layout<out_layout>,
       "[capacity, hidden]; backward: [tokens, hidden]", "the rows of experts; backward: the gradient of source"},
      {"out_probs", Role::output, offsetof(MoePermuteArgs, out_probs), false, layout<out_probs_layout>,
       "[capacity]; backward: [tokens, topk] or [tokens, experts]",
       "the probability of each row; backward: the gradient of probs"},
      {"scales", Role::input, offsetof(MoePermuteArgs, scales), true, layout<scales_layout>,
       "[tokens, scales]; row: 1, block128: ceil(hidden / 128), mx: ceil(hidden / 32)",
       "scaling: the scales of source"},
      {"out_scales", Role::output, offsetof(MoePermuteArgs, out_scales), true, layout<out_scales_layout>,
       "[capacity, scales]; blocked: scales is a multiple of 4", "scaling: the scales of out"},
      {"given_scale", Role::input, offsetof(MoePermuteArgs, given_scale), false, layout<given_scale_layout>, "[1]",
       "element without scaling: the scale of everything"},
      {"token_experts", Role::input, offsetof(MoePermuteArgs, token_experts), true, layout<token_experts_layout>,
       "[tokens, topk]", "prob_layout=experts: the expert of each route"},
      {"token_scales", Role::output, offsetof(MoePermuteArgs, token_scales), true, layout<of_token_scales>,
       "[tokens, scales]", "scale_layout=blocked: the scales of tokens, plain; scales is a multiple of 4"},
      {"workspace", Role::workspace, offsetof(MoePermuteArgs, workspace), false, layout<of_workspace>,
       "[32 + capacity]", "scale_layout=blocked: scratch memory, zeros before the first launch"},
      {"scale", Role::input, offsetof(MoePermuteArgs, scale), true, layout<scale_layout>, "[tokens] or [tokens, topk]",
       "a factor for each row, of its token or route"},
      {"rows", Role::input, offsetof(MoePermuteArgs, rows), true, layout<rows_layout>, "[tokens, hidden]",
       "backward with scale: the forward's source"},
      {"scale_gradient", Role::output, offsetof(MoePermuteArgs, scale_gradient), false, layout<scale_gradient_layout>,
       "[tokens] or [tokens, topk]", "backward with scale: its gradient"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"tokens", offsetof(MoePermuteArgs, tokens), nullptr}};
  static constexpr const char* kBenchCases[] = {
      "moe_permute tokens=4096 experts=256 hidden=7168 topk=8 align=16",
      "moe_permute tokens=16384 experts=128 hidden=4096 topk=6 align=16",
      "moe_permute tokens=16384 experts=4 hidden=7168 topk=1 align=16",
      "moe_permute tokens=4096 experts=128 hidden=7168 topk=8 align=16",
      "moe_permute tokens=4096 experts=8 hidden=1280 topk=2 align=16",
      "moe_permute tokens=512 experts=8 hidden=4096 topk=2 align=16",
      "moe_permute tokens=4096 experts=256 hidden=7168 topk=8 align=16 probs=f32",
      "moe_permute tokens=4096 experts=256 hidden=7168 topk=8 align=16 scale=f32",
      "moe_permute tokens=4096 experts=256 hidden=7168 topk=8 align=16 dtype=e4m3 scaling=block128",
      "moe_permute tokens=4096 experts=256 hidden=7168 topk=8 align=128 element=e4m3 scaling=mx scale_layout=blocked",
      "moe_permute tokens=16384 experts=128 hidden=4096 topk=6 align=16 element=e4m3 scaling=mx",
      "moe_permute tokens=4096 experts=256 hidden=7168 topk=8 align=128 element=e4m3 scaling=block128 mode=exact",
      "moe_permute tokens=4096 experts=256 hidden=7168 topk=8 align=16 pass=backward",
      "moe_permute tokens=16384 experts=128 hidden=4096 topk=6 align=16 pass=backward",
      "moe_permute tokens=16384 experts=4 hidden=7168 topk=1 align=16 pass=backward",
      "moe_permute tokens=4096 experts=128 hidden=7168 topk=8 align=16 pass=backward",
      "moe_permute tokens=4096 experts=8 hidden=1280 topk=2 align=16 pass=backward",
      "moe_permute tokens=512 experts=8 hidden=4096 topk=2 align=16 pass=backward",
  };
  // Rows of models, of a decoding step and of a prompt.
  static constexpr const char* kDraws[] = {
      "tokens=1..65536",
      "experts=2..512",
      "hidden=64..16384/64",
      "topk=1..16",
      "align=1 | align=16 | align=128",
      "pass=forward | pass=forward probs=f32 | pass=backward | pass=backward probs=f32 | element=e4m3 scaling=mx",
  };

  static Table<SourceFile> sources() { return embedded::moe_permute_sources(); }

  static std::uint32_t alignment(const MoePermute& p, int operand, const Config& config) {
    const Movement m = movement_of(p);
    if (operand == kTokenRows || operand == kTokenExperts) return routes_alignment(m, config, 4);
    if (operand == kProbs) return is_forward(p) ? probs_alignment(m, config) : 1;
    if (operand == kScale) return m.route_factors ? routes_alignment(m, config, quern::bytes(p.scale)) : 1;
    if (operand == kScales || operand == kOutScales) return scales_alignment(m, config);
    if (operand == kTokenScales) return token_scales_alignment(m, config);
    if (operand == kOut && quantizes(m))
      return rows_alignment(m, config) / static_cast<std::uint32_t>(quern::bytes(p.dtype));
    return rows_alignment(m, config);
  }

  static bool generate(const MoePermute& p, int operand, std::uint64_t seed, void* data) {
    return generate_movement(movement_of(p), kOperands[operand].name, seed, data);
  }
};

}  // namespace

const Family& MoePermute::family() {
  static const Family family = make_family<MoePermuteFamily>();
  return family;
}

}  // namespace quern
