// The grids of TransformerEngine, flash-attention, FlashInfer and vLLM for rotary embeddings: their shapes, types and
// options.
#ifndef QUERN_TESTS_SUPPORT_ROPE_PEER_CASES_H_
#define QUERN_TESTS_SUPPORT_ROPE_PEER_CASES_H_

#include <vector>

#include "support/cases.h"

namespace quern::test {

// All combinations; those that are not a part of them that is spread over all choices are `full`.
std::vector<Case> peer_grids();

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_ROPE_PEER_CASES_H_
