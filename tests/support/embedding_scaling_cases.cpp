// Rows of out in 8 bits: every scaling, blocks that begin in one table and end in another, rows wider than a thread
// block, bags, and slots of every size.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {

std::vector<Case> embedding_scaling_cases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& fields, int offset = 0, const char* config = "") {
    cases.push_back({cat("embedding ", fields)});
    cases.back().offset = offset;
    cases.back().config = config;
  };
  for (const std::string scaling : {"tensor", "row", "block128", "mx"}) {
    const std::string how = cat(" scaling=", scaling);
    add(cat("batch=130 tables=26 rows=100 hash=modulus dense=16", how));
    add(cat("batch=70 tables=3 dim=5,16,70 rows=9,100,1 mode=zero dtype=bf16 element=e5m2 dense=3", how), 1);
    add(cat("batch=33 tables=6 dim=16,32,8,8,64,16 rows=99 dtype=f16 scale=f32 table_dtype=f32,f16,bf16,e4m3,e5m2,i8",
            how));
    add(cat("batch=41 tables=2 pooling=mean count=500 dim=48,24 rows=50 padding=3 dtype=bf16 dense=8", how));
    add(cat("batch=3 tables=2 dim=3000,500 rows=20 dense=1", how));
    add(cat("batch=70 tables=3 dim=16 rows=20 dense=12 dense_stride=20 index_stride=9 out_stride=72", how));
    add(cat("batch=0 tables=2 rows=20", how));
    add(cat("batch=1 tables=1 dim=1 rows=20 mode=report", how));
    add(cat("batch=300 tables=5 rows=20 dim=24 dtype=f16", how), 0, "elements=2,unroll=8,threads=64");
    add(cat("batch=50 tables=5 rows=20 dim=24 dtype=f16", how), 1, "elements=1,threads=128");
  }
  for (const char* mode : {"floor", "ceil", "even", "exact"}) {
    add(cat("batch=60 tables=9 dim=32 rows=50 scaling=block128 scale_mode=", mode));
    add(cat("batch=60 tables=9 dim=32 rows=50 dtype=bf16 element=e5m2 scaling=row scale_mode=", mode));
  }
  add("batch=60 tables=9 dim=16 rows=50 scaling=mx scale_mode=even dtype=f16");
  add("batch=60 tables=9 dim=16 rows=50 scaling=mx policy=te");
  for (const char* shape : {"batch=129 tables=5 dim=16 dense=16", "batch=1 tables=3 dim=7", "batch=128 tables=4 dim=32",
                            "batch=40 tables=2 pooling=sum count=300 dim=64 dtype=bf16"})
    add(cat(shape, " rows=50 scaling=mx scale_layout=blocked"));
  return cases;
}

}  // namespace quern::test
