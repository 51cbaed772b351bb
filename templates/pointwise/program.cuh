// What the kernel computes of one element where the problem has a program. generated/program.cuh has the types of its
// operands, how they are spread, and the formulas; this gives them to forward.cuh as operation.cuh does.
#ifndef QUERN_POINTWISE_PROGRAM_CUH_
#define QUERN_POINTWISE_PROGRAM_CUH_

#include "generated/program.cuh"
#include "pointwise/params.h"
#include "spec.cuh"

namespace quern::pointwise {

using namespace common;

using KernelParams = ProgramParams<spec::inputs + spec::outputs, spec::numbers>;

constexpr int kInputs = spec::inputs == 0 ? 1 : spec::inputs;  // without any, one that is absent
constexpr int kOutputs = spec::outputs;
constexpr int kAligned = spec::aligned;  // the output that ragged slots are aligned to: the widest

template <int I>
struct Input : generated::Input<I> {
  QUERN_DEVICE static const void* base(const KernelParams& p) { return p.operands[I]; }
  QUERN_DEVICE static i64 stride(const KernelParams& p) { return p.period; }
};

template <int I>
struct Output : generated::Output<I> {
  QUERN_DEVICE static void* base(const KernelParams& p) { return p.operands[spec::inputs + I]; }
  QUERN_DEVICE static i64 stride(const KernelParams& p) { return p.period; }
};

QUERN_DEVICE void compute(const KernelParams& p, const float (&in)[kInputs], float (&out)[kOutputs]) {
  generated::compute(p.numbers, in, out);
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_PROGRAM_CUH_
