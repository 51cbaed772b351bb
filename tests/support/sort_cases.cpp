// Lists of indices: of one block and of several, of one digit to four, shorter than a warp, and with edges between
// warps, blocks and iterations.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {

std::vector<Case> index_sort_cases() {
  std::vector<Case> cases;
  const auto add = [&](std::int64_t rows, int count, const char* rest, const char* config) {
    const std::string text = cat("index_sort rows=", rows, " count=", count, " ", rest);
    cases.push_back(*config == '\0' ? Case{text} : with(config, text));
  };
  for (const char* index : {"index=i64", "index=i32"}) {
    for (const int count : {0, 1, 31, 32, 33, 1000, 4096, 4097, 5000, 30000}) {
      for (const std::int64_t rows : {1, 2, 255, 256, 257, 8192, 70000, 20000000, 2147483647})
        add(rows, count, index, "");
    }
    add(0, 700, index, "");
    for (const char* config : {"blocks=8", "blocks=16,threads=256", "blocks=1,threads=512", "blocks=8,unroll=1",
                               "blocks=8,unroll=8,threads=512,bits=7", "blocks=64,unroll=2,bits=4",
                               "threads=1024,unroll=4", "bits=5", "bits=6"})
      for (const std::int64_t rows : {100, 10000, 1000000}) add(rows, 3001, index, config);
  }
  return cases;
}

}  // namespace quern::test
