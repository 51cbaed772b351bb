#include "tuner/space/space.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "tuner/space/refuse.h"

namespace quern {
namespace {

int place_of(const Axis& axis, std::string_view value) {
  const auto found = std::find(axis.values.begin(), axis.values.end(), value);
  if (found == axis.values.end())
    refuse(cat(axis.name, "=", value, " is not in the tuning space; it takes ", join(axis.values, ", ")));
  return static_cast<int>(found - axis.values.begin());
}

}  // namespace

Space::Space(std::vector<Axis> axes, std::vector<std::vector<int>> points)
    : axes_(std::move(axes)), points_(std::move(points)) {
  check_axes();
  std::sort(points_.begin(), points_.end());
  check_points();
}

void Space::check_axes() const {
  std::set<std::string_view> names;
  for (const Axis& axis : axes_) {
    if (axis.name.empty()) refuse("an axis of the tuning space has no name");
    if (!names.insert(axis.name).second) refuse(cat("the tuning space has two axes named ", axis.name));
    if (axis.values.empty()) refuse(cat("the axis ", axis.name, " of the tuning space has no values"));
    std::set<std::string_view> values;
    for (const std::string& value : axis.values) {
      if (!values.insert(value).second) refuse(cat("the axis ", axis.name, " has the value ", value, " twice"));
    }
  }
}

void Space::check_points() const {
  if (points_.empty()) refuse("the tuning space has no legal point; its constraints exclude every config");
  for (const std::vector<int>& point : points_) {
    if (point.size() != axes_.size())
      refuse(cat("a point of the tuning space has ", point.size(), " values for ", axes_.size(), " axes"));
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (point[a] < 0 || point[a] >= static_cast<int>(axes_[a].values.size()))
        refuse(cat("a point of the tuning space is at place ", point[a], " of ", axes_[a].name, ", which has ",
                   axes_[a].values.size(), " values"));
    }
  }
  const auto twice = std::adjacent_find(points_.begin(), points_.end());
  if (twice != points_.end())
    refuse(cat("the tuning space has the point ", text(static_cast<int>(twice - points_.begin())), " twice"));
}

int Space::find(const std::vector<int>& indices) const {
  const auto found = std::lower_bound(points_.begin(), points_.end(), indices);
  return found != points_.end() && *found == indices ? static_cast<int>(found - points_.begin()) : -1;
}

int Space::axis_of(std::string_view name) const {
  std::vector<std::string> names;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].name == name) return static_cast<int>(a);
    names.push_back(axes_[a].name);
  }
  refuse(cat("the tuning space has no axis named ", name, "; it has ", join(names, ", ")));
}

int Space::find(std::string_view text) const {
  std::vector<int> indices(axes_.size(), -1);
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) refuse(cat("expected NAME=VALUE, got \"", word, "\""));
    const auto axis = static_cast<std::size_t>(axis_of(word.substr(0, equals)));
    if (indices[axis] >= 0) refuse(cat(axes_[axis].name, " is given twice in \"", text, "\""));
    indices[axis] = place_of(axes_[axis], word.substr(equals + 1));
  }
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (indices[a] < 0) refuse(cat(axes_[a].name, " is missing in \"", text, "\""));
  }
  return find(indices);
}

std::vector<Neighbour> Space::neighbours(int point) const {
  std::vector<Neighbour> found;
  std::vector<int> indices = this->indices(point);
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const int here = indices[a];
    const int end = static_cast<int>(axes_[a].values.size());
    for (const int direction : {-1, 1}) {
      int rank = 0;
      for (indices[a] = here + direction; indices[a] >= 0 && indices[a] < end; indices[a] += direction) {
        const int other = find(indices);
        if (other >= 0) found.push_back({other, static_cast<int>(a), direction, ++rank});
      }
    }
    indices[a] = here;
  }
  return found;
}

std::string Space::text(int point) const {
  std::vector<std::string> words;
  const std::vector<int>& places = indices(point);
  for (std::size_t a = 0; a < axes_.size(); ++a)
    words.push_back(cat(axes_[a].name, "=", axes_[a].values[static_cast<std::size_t>(places[a])]));
  return join(words, " ");
}

}  // namespace quern
