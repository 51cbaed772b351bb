// What a concat problem may be, and its plain reference.
#ifndef QUERN_CONCAT_PROBLEM_H_
#define QUERN_CONCAT_PROBLEM_H_

#include <cstdint>
#include <string>

#include "concat/concat.h"

namespace quern::concat {

// The rules between fields: a sentence, or "".
std::string check(const Concat& p);
void reference(const Concat& p, const ConcatArgs& a);
// The indices of a source: each row once where there are enough, else again from the start, but backward none of its
// rows. Where the mode gives it a meaning, every eighth is none of its rows.
void generate_index(const Concat& p, int source, std::uint64_t seed, void* data);

}  // namespace quern::concat

#endif  // QUERN_CONCAT_PROBLEM_H_
