// Results of the type of x, without sums.
#include "glu/slots.cuh"

namespace quern::glu {

using KernelParams = Params;

QUERN_DEVICE void finish(const Params& p, const Span& at, const Operands& o, const BiasBits& bias) {
  if constexpr (spec::backward) {
    Gradients made;
    make_gradients(p, o, bias, made);
    write_gradients<T>(p, at, made);
  } else {
    Numbers out;
    make_out(p, o, bias, out);
    write_out(p, at, out);
  }
}

QUERN_DEVICE void run(const KernelParams& p) {
  run_slots(p, [&](const Span& at, const Operands& o, const BiasBits& bias) { finish(p, at, o, bias); });
}

}  // namespace quern::glu
