// The suites of TransformerEngine, vLLM, torchtitan and TileOPs for mixtures of experts: their sizes, types and
// options.
#ifndef QUERN_TESTS_SUPPORT_MOE_PEER_CASES_H_
#define QUERN_TESTS_SUPPORT_MOE_PEER_CASES_H_

#include <vector>

#include "support/cases.h"

namespace quern::test {

void add_peer_maps(std::vector<Case>& cases);
void add_peer_permutes(std::vector<Case>& cases);
void add_peer_unpermutes(std::vector<Case>& cases);
void add_peer_chunk_sorts(std::vector<Case>& cases);

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_MOE_PEER_CASES_H_
