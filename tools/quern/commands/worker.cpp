// quern worker: compiles and runs a sweep's candidates.
#include "quern/worker.h"

#include "io/arguments.h"
#include "io/command.h"

namespace quern::tool {
namespace {

class Worker : public Command {
 public:
  void declare(Arguments&) override {}
  int run(const Global& global) override { serve_worker({}, runtime_options(global)); }
  bool names_variables() const override { return true; }  // its parent has reported them
};

const Registration<Worker> register_worker("worker",
                                           "Compiles and runs the candidates of a sweep; `quern tune` starts it");

}  // namespace
}  // namespace quern::tool
