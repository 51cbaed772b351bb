// The upper triangle of a sample's products: rows of every length and alignment, in both passes.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {

std::vector<Case> interaction_upper_cases() {
  std::vector<Case> cases;
  for (const char* pass : {"forward", "backward"}) {
    for (const char* type : {"f32", "bf16", "f16"}) {
      const auto add = [&](const char* fields, int offset = 0, const char* config = "") {
        cases.push_back({cat("interaction form=upper dtype=", type, " pass=", pass, " ", fields)});
        cases.back().offset = offset;
        cases.back().config = config;
      };
      add("batch=2 features=1 dim=432");
      add("batch=3 features=5 dim=7 diagonal=1", 1);
      add("batch=0 features=3 dim=7");
      add("batch=3 features=1 dim=1");
      add("batch=3 features=1 dim=1 diagonal=1", 2);
      add("batch=5 features=2 dim=8 source_stride=24 out_stride=141 diagonal=1");
      add("batch=5 features=1 dim=9 source_stride=11 out_stride=40", 1);
      add("batch=1 features=1 dim=1030", 0, "unroll=1");
      add("batch=4 features=1 dim=2");
      add("batch=3 features=1 dim=66 diagonal=1", 3, pass == std::string("forward") ? "unroll=8" : "unroll=4");
    }
  }
  return cases;
}

}  // namespace quern::test
