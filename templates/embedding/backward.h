// The backward pass on the host: what a problem of it needs, its reference and its generated data.
#ifndef QUERN_EMBEDDING_BACKWARD_H_
#define QUERN_EMBEDDING_BACKWARD_H_

#include <cstdint>
#include <string>

#include "embedding/embedding.h"
#include "embedding/shape.h"

namespace quern::embedding {

inline bool is_backward(const Embedding& p) { return p.pass == EmbeddingPass::backward; }
inline bool is_forward(const Embedding& p) { return !is_backward(p); }
inline bool has_weights_gradient(const Embedding& p) {
  return is_backward(p) && p.optimizer == EmbeddingOptimizer::none;
}
inline bool has_optimizer(const Embedding& p) { return p.optimizer != EmbeddingOptimizer::none; }
inline bool is_adam(const Embedding& p) { return p.optimizer == EmbeddingOptimizer::adam; }
inline bool has_moments(const Embedding& p) { return has_optimizer(p) && p.optimizer != EmbeddingOptimizer::sgd; }
inline bool is_stochastic(const Embedding& p) { return p.rounding == EmbeddingRounding::stochastic; }
inline bool is_weighted(const Embedding& p) { return p.sample_weights != DType::none; }
inline bool is_max(const Embedding& p) { return p.pooling == EmbeddingPooling::max; }
// Whether the ids that a mean has counted differ from those of its bag.
inline bool counts_bags(const Embedding& p) { return p.pooling == EmbeddingPooling::mean && has_padding(p); }

// Whether the gradients need more of a bag than its offsets: a launch of its own finds that.
inline bool reads_bags(const Embedding& p) { return is_backward(p) && (is_max(p) || is_weighted(p) || counts_bags(p)); }
// Whether weights is an operand.
inline bool has_weights(const Embedding& p) {
  if (!is_backward(p)) return !is_packed(p);
  return !has_optimizer(p) && (is_max(p) || is_weighted(p));
}

// What is sorted: a key for each id, which is its row's number among the rows of all tables, or their number for an id
// that has no row; and a value that leads to its gradient: the number of its bag where that is enough, else its
// position in index.
std::int64_t ids_of(const Embedding& p);  // kOpen while batch or count is open
std::int64_t all_rows(const Embedding& p);
int key_bits(const Embedding& p);
// Whether keys need more than a word, of which the sort has one bit.
inline bool has_wide_keys(const Embedding& p) { return key_bits(p) > 31; }
inline bool values_are_bags(const Embedding& p) { return is_pooled(p) && !is_weighted(p) && !is_max(p); }
inline constexpr int kMostBits = 9;  // of a digit
inline constexpr std::int64_t kMostBlocks = 256;
int passes_of(const Embedding& p, int bits);

std::int64_t largest_dim(const Embedding& p);

// Where things are in the workspace, in words. Those from `keys` to `sums` are cleared at the end.
struct Workspace {
  std::int64_t ids;    // words of each list
  std::int64_t table;  // of digits; after what lengths need
  std::int64_t spare;  // two buffers of keys and values, and what wide keys have above these
  std::int64_t ended;  // three words: a counter and two barriers
  std::int64_t keys;   // sorted
  std::int64_t values;
  std::int64_t highs;    // of wide keys
  std::int64_t counts;   // of bags, where a mean has padding
  std::int64_t winners;  // with pooling=max: [ids, words_of_id], a bit for each element whose maximum the id's row is
  std::int64_t words_of_id;
  std::int64_t offsets;  // of bags whose lengths are given
  std::int64_t sums;     // of groups of long runs: [groups + chunks, stride], then counters of both
  std::int64_t groups;
  std::int64_t chunks;
  std::int64_t stride;
  std::int64_t words;
};
Workspace workspace_of(const Embedding& p);
std::int64_t workspace_words(const Embedding& p);

// The rules of the backward pass: a sentence, or "".
std::string check_backward(const Embedding& p);
std::string check_ids(const Embedding& p);  // their number
void backward_reference(const Embedding& p, const EmbeddingArgs& a);
std::int64_t backward_bytes(const Embedding& p);

// Sums and means of squares are not negative. `seed`: the operand's.
bool generates_state(const Embedding& p, int operand);
void generate_state(const Embedding& p, int operand, int table, std::uint64_t seed, void* data);

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_H_
