// The tuning space of a family's step for one problem, as a search sees it.
#ifndef QUERN_TUNER_SPACE_FAMILY_SPACE_H_
#define QUERN_TUNER_SPACE_FAMILY_SPACE_H_

#include <string>
#include <vector>

#include "quern/runtime.h"
#include "tuner/space/space.h"

namespace quern {

// Immutable. Points are numbered in the order of `legal_configs`.
class FamilySpace {
 public:
  // Of the family's first step. Throws Error (bad_input) where no config is legal, with the constraints.
  FamilySpace(const AnyProblem& problem, const Target& target);
  FamilySpace(const AnyProblem& problem, const Target& target, const Step& step);

  const Space& space() const { return space_; }
  int size() const { return space_.size(); }
  const AnyProblem& problem() const { return problem_; }
  const Step& step() const { return step_; }
  const Target& target() const { return target_; }

  const Config& config(int point) const { return configs_[static_cast<std::size_t>(point)]; }
  // -1 where it is not legal for this problem.
  int find(const Config& config) const;
  // "threads=256 vector=16", as in records and sweeps.
  std::string text(int point) const;
  // The same, in the form that PrepareOptions::config takes.
  std::string option(int point) const;
  // The point of such a text; -1 where it is not a legal config.
  int find(const std::string& text) const;

  // Points whose compiled parameters are equal share an image. Images are numbered from 0, in the order of the points.
  int image(int point) const { return images_[static_cast<std::size_t>(point)]; }
  int images() const { return image_count_; }

  // Digest of the axes and the legal points, hexadecimal.
  std::string digest() const;

 private:
  const AnyProblem problem_;
  const Target target_;
  const Step& step_;
  const std::vector<Config> configs_;
  const Space space_;
  std::vector<int> images_;
  int image_count_ = 0;
};

}  // namespace quern

#endif  // QUERN_TUNER_SPACE_FAMILY_SPACE_H_
