// Search history: every strategy measures through it, so no point is measured twice.
#ifndef QUERN_TUNER_SEARCH_SEARCH_HISTORY_H_
#define QUERN_TUNER_SEARCH_SEARCH_HISTORY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "tuner/search/search.h"

namespace quern {

// One thread.
class SearchHistory {
 public:
  // Both must outlive it.
  SearchHistory(const Space& space, Backend& backend);

  const Space& space() const { return space_; }
  bool knows(int point) const { return known_[static_cast<std::size_t>(point)]; }
  // Infinity if it failed. REQUIRES: knows(point).
  double us(int point) const { return us_[static_cast<std::size_t>(point)]; }
  // The backend said stop, or every point is known.
  bool over() const { return stopped_ || trials_.size() == known_.size(); }
  // In the order in which they were measured.
  const std::vector<Trial>& trials() const { return trials_; }

  // Measures one of `candidates` that is not known yet, preferably the first; at most 64 are offered to the backend.
  // nullopt: all of them are known, or the backend said stop.
  std::optional<Trial> any_of(const std::vector<int>& candidates);
  // Measures all of `points` that are not known yet. Returns !over().
  bool all_of(const std::vector<int>& points);

  // A random point that is not known. REQUIRES: !over(). O(size) at worst, where nearly all are known.
  int unknown(Random& random) const;
  // Up to `count` different ones.
  std::vector<int> unknowns(Random& random, int count) const;
  // The fastest `count` of the known points, fastest first; on a tie the one measured first.
  std::vector<int> fastest(int count) const;

 private:
  void learn(const Trial& trial);

  const Space& space_;
  Backend& backend_;
  bool stopped_ = false;
  std::vector<char> known_;
  std::vector<double> us_;
  std::vector<Trial> trials_;
};

}  // namespace quern

#endif  // QUERN_TUNER_SEARCH_SEARCH_HISTORY_H_
