// A tuning space for a search: axes with their values, and the legal points, numbered in canonical order.
#ifndef QUERN_TUNER_SPACE_SPACE_H_
#define QUERN_TUNER_SPACE_SPACE_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"

namespace quern {

// A parameter and its values, ordered so that adjacent values are similar.
struct Axis {
  std::string name;
  std::vector<std::string> values;
  std::string otherwise = {};  // the value where the parameter does not apply; "": it always does
};

// A legal neighbour of a point: they differ only in `axis`.
struct Neighbour {
  int point = 0;
  int axis = 0;
  int direction = 1;  // 1: a later value of the axis; -1: an earlier one
  int rank = 1;       // 1: the nearest legal one on that side, skipping illegal values, 2: the next, …
};

// Immutable, usable from any thread. Points are numbered from 0; the last axis varies fastest.
class Space {
 public:
  // `points` are the legal ones, as value indices for each axis, in any order. Throws Error (bad_input) for an axis
  // without a name or values, a duplicate name or value, a point of the wrong length or out of range, a duplicate
  // point, and for no points at all.
  Space(std::vector<Axis> axes, std::vector<std::vector<int>> points);

  int size() const { return static_cast<int>(points_.size()); }
  const std::vector<Axis>& axes() const { return axes_; }
  // REQUIRES here and below: 0 <= point < size().
  const std::vector<int>& indices(int point) const { return points_[static_cast<std::size_t>(point)]; }

  // The point with these value indices, -1 if it is not legal. O(log size).
  int find(const std::vector<int>& indices) const;
  // The point of a text as from text(), with the words in any order; -1 if it is not legal. Throws Error (bad_input)
  // for a text that is not a point: an axis or value that is unknown, missing or given twice.
  int find(std::string_view text) const;

  // All points that differ in one axis; by axis, earlier values first, then later ones, each from the nearest outwards.
  std::vector<Neighbour> neighbours(int point) const;

  // "threads=256 vector=16".
  std::string text(int point) const;

 private:
  void check_axes() const;
  void check_points() const;
  int axis_of(std::string_view name) const;

  std::vector<Axis> axes_;
  std::vector<std::vector<int>> points_;  // sorted
};

}  // namespace quern

#endif  // QUERN_TUNER_SPACE_SPACE_H_
