// The plans that a family's function has made, and which calls they serve.
#ifndef QUERN_PYTHON_KNOWN_PLAN_H_
#define QUERN_PYTHON_KNOWN_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "call.h"
#include "objects.h"
#include "place.h"

namespace quern::python {

// A plan that a function made, and the calls that it serves: those with these settings, whose tensors fit it.
struct KnownPlan {
  struct Setting {
    Ref name;
    Ref value;
    std::string text;
    bool immutable;  // the same object is then the same value
  };
  Ref plan;
  PyObject* runtime;  // compared only
  std::string config;
  std::vector<Setting> settings;
  std::vector<Where> places;
  std::vector<bool> given;  // of each place, whether the first call gave it: results say of which problem they are
  struct Workspace {
    quern_stream stream;
    Ref memory;
  };
  std::vector<Workspace> workspaces;  // zeros, which each launch restores; launches of one stream follow each other

  const PlanObject* object() const { return reinterpret_cast<const PlanObject*>(plan.get()); }
};

// The tensors of a call at the places of a plan, with the shapes of those to be made.
struct Placed {
  std::vector<const GivenTensor*> given;
  std::vector<const quern_tensor*> tensors;
  std::vector<quern_place> places;
};

// Whether a plan serves a call; `placed` is then filled.
bool serves(const KnownPlan& plan, const Call& call, Placed& placed);
// A new plan for a call.
std::shared_ptr<KnownPlan> make_plan(const quern_family& family, const Call& call);
// Raises what does not fit where a call's own plan does not serve it.
void require_served(const quern_family& family, const KnownPlan& plan, const Call& call, Placed& placed);

}  // namespace quern::python

#endif  // QUERN_PYTHON_KNOWN_PLAN_H_
