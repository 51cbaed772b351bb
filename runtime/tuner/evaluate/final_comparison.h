// FinalComparison: a few that have passed are compared in pairs, one of them is chosen, and the winner of an earlier
// sweep loses its place only to what beats it twice. A sweep ends so, and a record is looked at again so.
#ifndef QUERN_TUNER_EVALUATE_FINAL_COMPARISON_H_
#define QUERN_TUNER_EVALUATE_FINAL_COMPARISON_H_

#include <functional>
#include <vector>

#include "testbench/estimate.h"
#include "tuner/evaluate/pick_winner.h"

namespace quern {

// Of each comparison.
inline constexpr int kRounds = 15;

// kRounds rounds of the points a and b.
using ComparePoints = std::function<std::vector<Round>(int a, int b)>;

struct FinalComparison {
  std::vector<Finalist> finalists;  // in the order given, with their differences from the first
  Decision decision;
};

// REQUIRES: contenders is not empty, and all have passed the check. Throws what `compare` throws.
FinalComparison compare_finalists(std::vector<Finalist> contenders, const ComparePoints& compare);

}  // namespace quern

#endif  // QUERN_TUNER_EVALUATE_FINAL_COMPARISON_H_
