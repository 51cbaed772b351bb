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
  static constexpr bool kClamped = G == GluGating::clamped;

  GateNumbers n;

  QUERN_DEVICE float limit() const { return Round()(n.limit); }
  QUERN_DEVICE float argument(float a) const { return kClamped ? at_most(a, limit()) : a; }
  QUERN_DEVICE float activated(float a) const { return Round()(common::activate<A>(argument(a), n.alpha, Round())); }
  QUERN_DEVICE float gate(float g) const {
    if constexpr (kClamped) return Round()(at_most(at_least(g, -limit()), limit()) + n.offset);
    if constexpr (G == GluGating::tanh) return Round()(n.beta * tanhf(g / n.beta));
    return g;
  }

  // The gradients of a and g, from those of the factors. They are 0 beyond a limit, not at it, and of NaN, which is
  // within none.
  QUERN_DEVICE float gradient_of_a(float a, float of_factor) const {
    if (kClamped && !(a <= limit())) return 0.0f;
    return common::activate_gradient<A>(argument(a), n.alpha, of_factor, Round());
  }
  QUERN_DEVICE float gradient_of_g(float g, float of_factor) const {
    if constexpr (kClamped) return g >= -limit() && g <= limit() ? of_factor : 0.0f;
    if constexpr (G == GluGating::product) return of_factor;
    const float t = tanhf(g / n.beta);
    return Round()(of_factor * (1.0f - t * t));
  }
};

}  // namespace quern::glu

#endif  // QUERN_GLU_GATED_CUH_
