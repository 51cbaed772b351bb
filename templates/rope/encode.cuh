// Elements of an output: of the input's type, or of fp8 with a scale that is given.
#ifndef QUERN_ROPE_ENCODE_CUH_
#define QUERN_ROPE_ENCODE_CUH_

#include "rope/unit.cuh"

namespace quern::rope {

using Quantized = spec::Quantized;
constexpr int kQuantizedBytes = kElements * sizeof(Quantized);  // of an access

QUERN_DEVICE bool is_quantized(u32 tensor) { return spec::quantizes && (spec::quantizes_q || tensor != kTensorQ); }

QUERN_DEVICE float factor_of(const Params& p, u32 tensor) {
  if (!is_quantized(tensor)) return 1.0f;
  const float* const scale = tensor == kTensorQ   ? p.scales[kTensorQ]
                             : tensor == kTensorV ? p.scales[kTensorV]
                                                  : p.scales[kTensorK];
  return 1.0f / bit_cast<float>(load<4, LoadHint::keep>(scale));
}

// Quantized elements are the first bytes of an access.
QUERN_DEVICE Access encode(float (&elements)[kElements], u32 tensor, float factor) {
  if (!is_quantized(tensor)) return pack<Element, kElements>(elements);
  QUERN_UNROLL for (int i = 0; i < kElements; ++i) elements[i] *= factor;
  const Vector<kQuantizedBytes> codes = pack<Quantized, kElements>(elements);
  Access access = {};
  memcpy(&access, &codes, kQuantizedBytes);
  return access;
}

QUERN_DEVICE void write(u8* to, const Access& access, u32 tensor) {
  if (!is_quantized(tensor)) return store<spec::vector, StoreHint::stream>(to, access);
  Vector<kQuantizedBytes> codes;
  memcpy(&codes, &access, kQuantizedBytes);
  store<kQuantizedBytes, StoreHint::stream>(to, codes);
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_ENCODE_CUH_
