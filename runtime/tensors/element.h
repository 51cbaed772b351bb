// Element types of tensors, in the terms of DLPack.
#ifndef QUERN_TENSORS_ELEMENT_H_
#define QUERN_TENSORS_ELEMENT_H_

#include <string>

#include "quern/c.h"
#include "quern/dtype.h"

namespace quern {

// Whether memory of the tensor's type can be an operand of type `type`: it is the same, or has the same bits without a
// type: uint8, uint16 or DLPack's opaque ones for bf16 and 8-bit floats, bool for u8.
bool serves(const quern_tensor& tensor, DType type);

// The type of which the tensor is; none if quern has no such type.
DType element_of(const quern_tensor& tensor);

// For messages: "bf16", or "int16" where quern has no such type.
std::string element_text(const quern_tensor& tensor);

// Sets code, bits and lanes.
void set_element(quern_tensor& tensor, DType type);

}  // namespace quern

#endif  // QUERN_TENSORS_ELEMENT_H_
