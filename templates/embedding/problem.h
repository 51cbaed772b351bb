// What an embedding problem may be, its generated data, and its plain reference.
#ifndef QUERN_EMBEDDING_PROBLEM_H_
#define QUERN_EMBEDDING_PROBLEM_H_

#include <cstdint>
#include <string>

#include "embedding/embedding.h"

namespace quern::embedding {

// The rules between fields: a sentence, or "".
std::string check(const Embedding& p);
// Those that the batch or the number of ids can break.
std::string check_extents(const Embedding& p);
void reference(const Embedding& p, const EmbeddingArgs& a);

// What an id of table t does.
struct NamedRow {
  std::int64_t row;  // -1: none
  bool counted;      // pooled: it is one of the bag's
};
// `at`: its place in index.
NamedRow row_named(const Embedding& p, const EmbeddingArgs& a, int t, std::int64_t at);

// `seed`: the problem's. Bags of 0 to twice the average.
void generate_offsets(const Embedding& p, std::uint64_t seed, void* data);
void generate_lengths(const Embedding& p, std::uint64_t seed, void* data);
// layout=packed: the seed says which table comes first, and some have fewer rows than they may.
void generate_places(const Embedding& p, std::uint64_t seed, void* data);
// Of a vocabulary of rows[t] keys, some of them twice. An eighth of the ids is not among them.
void generate_vocabulary(const Embedding& p, int table, std::uint64_t seed, void* data);
// Uniform over the rows of a table; where seed % 4 is 2, by a power law with the exponent 1.05. Where the mode gives it
// a meaning, every eighth names no row, and with padding every eighth is one that a bag passes over. With hash=modulus
// any numbers, the limits of the type among them.
void generate_index(const Embedding& p, std::uint64_t seed, void* data);

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_PROBLEM_H_
