// Bags by their lengths: sums over few and many bags, of both types, in both passes.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {

std::vector<Case> embedding_lengths_cases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& fields, int offset = 0, const char* config = "") {
    cases.push_back({cat("embedding bags=lengths ", fields)});
    cases.back().offset = offset;
    cases.back().config = config;
  };
  add("batch=65 tables=3 pooling=sum count=2000 dim=16 rows=40");
  add("batch=33 tables=2 pooling=max count=40 dim=5,12 rows=40,1 padding=3,-1 dense=2 offsets=i32", 1);
  add("batch=50 tables=4 pooling=mean count=1000 dim=8 rows=10 mode=report scaling=mx");
  add("batch=0 tables=2 pooling=sum count=0 rows=10");
  add("batch=1 tables=1 pooling=mean count=3000 dim=64 rows=100 index=i32");
  add("batch=70 tables=2 pooling=sum count=0 dim=8 rows=10");
  add("batch=3000 tables=3 pooling=sum count=9000 dim=4 rows=100 hash=modulus", 0,
      "offsets.threads=256,offsets.unroll=1");
  add("batch=3001 tables=3 pooling=sum count=9000 dim=4 rows=100 offsets=i32", 0,
      "offsets.threads=1024,offsets.unroll=8");
  add("batch=33333 tables=1 pooling=mean count=20000 dim=1 rows=9");
  add("pass=backward batch=65 tables=3 pooling=sum count=2000 dim=16 rows=40 optimizer=row_adagrad");
  add("pass=backward batch=33 tables=2 pooling=mean count=400 dim=5,12 rows=40,1 padding=3,-1 dense=2 offsets=i32", 1);
  add("pass=backward batch=50 tables=2 pooling=mean count=500 dim=16 rows=40 dtype=bf16 optimizer=adam");
  add("pass=backward batch=20 tables=2 pooling=max count=300 dim=33,72 rows=4,9 dense=8");
  add("pass=backward batch=60 tables=3 pooling=sum count=900 dim=16 rows=50 sample_weights=f32 optimizer=sgd");
  add("pass=backward batch=0 tables=2 pooling=sum count=50 dim=8 rows=10 sample_weights=f16");
  return cases;
}

}  // namespace quern::test
