// quern list: the families.
#include "io/arguments.h"
#include "io/output.h"

namespace quern::tool {
namespace {

class List : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.flag("--json", json_, "Print JSON lines");
    arguments.example("quern list", "Names and descriptions; `quern describe FAMILY` shows more of one");
  }

  int run(const Global& global) override {
    const Runtime runtime(runtime_options(global));
    std::vector<Row> rows;
    for (const Family* family : runtime.families())
      rows.push_back(Row().add("family", family->name).add("sentence", family->sentence));
    print_rows("quern.list/1", rows, json_);
    return kDone;
  }

 private:
  bool json_ = false;
};

const Registration<List> register_list("list", "The families");

}  // namespace
}  // namespace quern::tool
