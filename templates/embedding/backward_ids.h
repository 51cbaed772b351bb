// What the steps of the backward pass share on the host.
#ifndef QUERN_EMBEDDING_BACKWARD_IDS_H_
#define QUERN_EMBEDDING_BACKWARD_IDS_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "embedding/backward.h"
#include "embedding/backward_params.cuh"
#include "embedding/lookup.h"
#include "sort/workspace.h"

namespace quern::embedding {

// Parameters have room for so many tables.
inline constexpr int kFewTables = 8;
inline int room_for_tables(const Embedding& p) { return p.tables <= kFewTables ? kFewTables : kMaxEntries; }
template <class F>
void with_room(const Embedding& p, const F& f) {
  if (p.tables <= kFewTables) return f(std::integral_constant<int, kFewTables>());
  f(std::integral_constant<int, kMaxEntries>());
}

// The arguments, with the tables whose rows are read as weights: nothing where none is.
class RowArgs {
 public:
  RowArgs(const Embedding& p, const EmbeddingArgs& a) : args_(a) {
    for (int t = 0; t < tables(p); ++t) {
      if (has_optimizer(p)) entries_[t] = In(a.updated.entries[t].data);
      if (has_weights(p)) entries_[t] = a.weights.entries[t];
    }
    args_.weights = {entries_, p.tables};
  }
  RowArgs(const RowArgs&) = delete;
  RowArgs& operator=(const RowArgs&) = delete;
  ~RowArgs() = default;
  const EmbeddingArgs& args() const { return args_; }

 private:
  In entries_[kMaxEntries];
  EmbeddingArgs args_;
};

// The problem as far as it decides which row an id names: problems that differ in the rest share an image.
Embedding ids_alone(const Embedding& p);

// Slots of so many elements. Constants and parameters of embedding/ids.cuh and pooled.cuh.
void specialize_ids(const Embedding& p, std::int64_t elements, Spec& spec);
template <int Most>
void fill_ids(const Embedding& p, const EmbeddingArgs& a, std::int64_t elements, IdParamsOf<Most>& params);

// Words of the workspace from one on; null in a launch without work.
inline unsigned* words_at(const EmbeddingArgs& a, std::int64_t first) {
  return sort::words_at(a.workspace.data, first);
}

// The most elements that a slot may have.
inline std::int64_t widest_slot(const Embedding& p) {
  return natural_elements(p, std::min<std::int64_t>(8, 32 / widest_type(p)));
}
// Of tables and gradients in accesses of so many elements; a single one is aligned to itself, which quern checks.
inline std::uint32_t alignment_of_slots(const Embedding& p, int operand, std::int64_t elements) {
  if (elements == 1) return 1;
  const bool of_tables = operand == kWeights || operand == kWeightsGradient || operand == kUpdated;
  const bool of_state = operand == kSquares || (operand == kMoments && is_adam(p));
  if (operand == kMoments && !of_state) return 1;
  const std::int64_t size = of_tables ? widest_type(p) : of_state ? 4 : bytes(p.dtype);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(elements * size, 32));
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_IDS_H_
