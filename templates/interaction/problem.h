// A problem's rules, its reference and its test data.
#ifndef QUERN_INTERACTION_PROBLEM_H_
#define QUERN_INTERACTION_PROBLEM_H_

#include <cstdint>
#include <string>

#include "interaction/interaction.h"

namespace quern::interaction {

std::string check(const Interaction& p);
void reference(const Interaction& p, const InteractionArgs& a);
Tolerance tolerance(const Interaction& p);

// Of source, or of the gradient. Of 16-bit numbers the sums of the form lower are exact in each order. One vector of 16
// has one NaN, infinity or denormal, and zeros else: those sums are exact too.
void generate_source(const Interaction& p, std::uint64_t seed, void* data);
void generate_gradient(const Interaction& p, std::uint64_t seed, void* data);

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_PROBLEM_H_
