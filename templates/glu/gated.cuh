// Gated activations: the value of an element, and what its gradients are made of.
#ifndef QUERN_GLU_GATED_CUH_
#define QUERN_GLU_GATED_CUH_

#include "common/activations.cuh"
#include "glu/glu_choices.h"

namespace quern::glu {

using quern::GluGating;

// Run-time numbers of glu.
struct GateNumbers {
  float alpha;
  float limit;
  float offset;
  float beta;
};

// NaN stays NaN.
QUERN_DEVICE float at_most(float x, float limit) { return x > limit ? limit : x; }
QUERN_DEVICE float at_least(float x, float limit) { return x < limit ? limit : x; }

// act(argument(a)) * gate(g), each factor on its own. `Round` is RoundTo<storage type> where eager operators round; the
// others round nothing.
template <common::Activation A, GluGating G, class Round>
struct Gated {
  GateNumbers n;

  QUERN_DEVICE float limit() const { return Round()(n.limit); }
  QUERN_DEVICE float argument(float a) const { return G == GluGating::clamped ? at_most(a, limit()) : a; }
  QUERN_DEVICE float activated(float a) const { return Round()(common::activate<A>(argument(a), n.alpha, Round())); }
  QUERN_DEVICE float gate(float g) const {
    if constexpr (G == GluGating::clamped) return Round()(at_least(at_most(g, limit()), -limit()) + n.offset);
    if constexpr (G == GluGating::tanh) return Round()(n.beta * tanhf(g / n.beta));
    return g;
  }

  // The derivatives of both: 0 where a limit holds, not at it.
  QUERN_DEVICE float activated_slope(float a) const {
    const float slope = common::activate_derivative<A>(argument(a), n.alpha, Round());
    return G == GluGating::clamped && a > limit() ? 0.0f : slope;
  }
  QUERN_DEVICE float gate_slope(float g) const {
    if constexpr (G == GluGating::clamped) return g > limit() || g < -limit() ? 0.0f : 1.0f;
    const float t = G == GluGating::tanh ? tanhf(g / n.beta) : 0.0f;
    return 1.0f - t * t;
  }
};

}  // namespace quern::glu

#endif  // QUERN_GLU_GATED_CUH_
