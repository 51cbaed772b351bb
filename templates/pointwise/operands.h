// The operands of a problem on the host: which there are, their types, and the types between them.
#ifndef QUERN_POINTWISE_OPERANDS_H_
#define QUERN_POINTWISE_OPERANDS_H_

#include <cstdint>

#include "pointwise/pointwise.h"

namespace quern::pointwise {

inline bool is_backward(const Pointwise& p) { return p.pass == PointwisePass::backward; }
inline bool has_y(const Pointwise& p) { return p.op == PointwiseOp::add_mul_act; }
inline bool has_bias(const Pointwise& p) { return p.bias_spread != Spread::none; }
inline DType or_dtype(const Pointwise& p, DType type) { return type == DType::none ? p.dtype : type; }
inline DType y_dtype(const Pointwise& p) { return or_dtype(p, p.y_dtype); }
inline DType bias_dtype(const Pointwise& p) { return or_dtype(p, p.bias_dtype); }
inline DType out_dtype(const Pointwise& p) { return or_dtype(p, p.out_dtype); }
inline std::int64_t stride(const Pointwise& p, std::int64_t given) { return given == 0 ? p.width : given; }

// The type in which an eager operator on both computes and returns.
inline DType promoted(DType a, DType b) { return a == b ? a : f32; }
inline DType sum_dtype(const Pointwise& p) { return has_y(p) ? promoted(p.dtype, y_dtype(p)) : p.dtype; }
inline DType biased_dtype(const Pointwise& p) {
  return has_bias(p) ? promoted(sum_dtype(p), bias_dtype(p)) : sum_dtype(p);
}

// Frameworks that have these two activations round every step of them.
inline bool rounds_steps(const Pointwise& p) {
  return p.rounding == Rounding::torch &&
         (p.activation == Activation::gelu_new || p.activation == Activation::gelu_fast);
}

// The bytes of the widest element of a full operand.
std::int64_t widest_element(const Pointwise& p);
// The same of all operands that are read or written in vectors, broadcasts along rows included.
std::int64_t widest_vector_element(const Pointwise& p, const Config& c);
// Elements per slot: the access to the widest operand is `vector` bytes; a ragged slot is one aligned access of out, of
// two elements where a program has many inputs.
std::int64_t slot_elements(const Pointwise& p, const Config& c);

// In the order of the family's parameters.
enum Parameters { kForm, kVector, kUnroll, kThreads, kLoadStream, kStoreStream, kPersistent, kBlocksPerSm };
enum Forms { kRows, kFlat, kRagged };

inline constexpr const char* kBiasSpreads[] = {QUERN_SPREADS(QUERN_CHOICE_NAME) nullptr};

// The plain reference.
void reference(const Pointwise& p, const PointwiseArgs& a);

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_OPERANDS_H_
