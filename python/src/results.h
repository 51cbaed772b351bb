// What a call of a family's function did not give, made: results, and workspaces.
#ifndef QUERN_PYTHON_RESULTS_H_
#define QUERN_PYTHON_RESULTS_H_

#include <vector>

#include "known_plan.h"

namespace quern::python {

class Results {
 public:
  // Makes them, by the package of the call's tensors, and puts them in their places.
  Results(const quern_family& family, KnownPlan& plan, const Call& call, Placed& placed, quern_stream stream);
  // By operand: a tensor, or a list of them; of several a tuple.
  Ref take();

 private:
  Ref object_of(std::size_t i);
  Ref operand_of(std::size_t begin, std::size_t end);
  const GivenTensor& like(const quern_place& place, const char** dtype) const;
  void make_at(std::size_t i, quern_stream stream);
  Ref new_tensor(const quern_place& place) const;
  Ref new_packed(const quern_place& place, int rank, const std::int64_t* extents) const;
  Ref permuted(Ref tensor, const int* order, int rank) const;
  int extents_of(const quern_place& place, std::int64_t* extents) const;
  Ref workspace_of(const quern_place& place, quern_stream stream);

  const quern_family& family_;
  KnownPlan& plan_;
  const Call& call_;
  Placed& placed_;
  std::vector<Ref> made_;
  std::vector<Tensor> tensors_;
  bool short_way_ = true;
};

}  // namespace quern::python

#endif  // QUERN_PYTHON_RESULTS_H_
