// Gradients of tables: every hash, mode, pooling, type and optimizer, runs of ids of every length, at every
// misalignment.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {
namespace {

const std::vector<std::string> kGradientModes = {
    "assume_valid", "minus_one_is_zero", "zero", "clamp", "wrap_negative", "report", "first", "report_first"};
const std::vector<std::string> kUpdates = {"optimizer=none", "optimizer=sgd", "optimizer=row_adagrad",
                                           "optimizer=adam"};

std::string gradients(int batch, int tables, const std::string& rest) {
  return cat("embedding pass=backward batch=", batch, " tables=", tables, " ", rest);
}
std::string of_bags(int batch, int tables, const std::string& pooling, int count, const std::string& rest) {
  return gradients(batch, tables, cat("pooling=", pooling, " count=", count, " ", rest));
}

void runs_of_ids(std::vector<Case>& cases) {
  for (const int batch : {0, 1, 2, 31, 128, 1000}) {
    cases.push_back({gradients(batch, 26, "dense=16 hash=modulus rows=1000")});
    cases.push_back({gradients(batch, 26, "dense=16 hash=modulus rows=1000 optimizer=row_adagrad dtype=bf16")});
  }
  for (const int tables : {7, 64})
    cases.push_back({gradients(130, tables, "rows=65 dim=8 optimizer=sgd padding=3"), tables % 3});
  // Runs of all ids of a table: of one group, of a chunk and of several.
  for (const int batch : {32, 33, 65, 1024, 1025, 4500}) {
    cases.push_back({gradients(batch, 1, cat("rows=1 dim=24 ", kUpdates[cases.size() % 4]))});
    cases.push_back({gradients(batch, 3, "rows=1,2,300 dim=5,16,300 dtype=bf16 optimizer=row_adagrad"), 1});
  }
  cases.push_back({gradients(300, 6, "dim=4 hash=modulus rows=1,2,3,1000,65537,100000")});
  cases.push_back({gradients(300, 6, "dim=4 hash=modulus rows=1,2,3,1000,65537,100000 index=i32"), 1});
}

void modes_and_types(std::vector<Case>& cases) {
  for (const std::string& mode : kGradientModes) {
    cases.push_back({gradients(77, 3, cat("dim=5,16,3 rows=9,100,1 dtype=bf16 dense=1 mode=", mode)), 1});
    cases.push_back({gradients(200, 5, cat("dim=32 rows=50 padding=7 optimizer=sgd index=i32 mode=", mode))});
  }
  for (const std::string& update : kUpdates) {
    for (const char* pair : {"dtype=f32 table_dtype=f32", "dtype=bf16 table_dtype=bf16", "dtype=f16 table_dtype=f32",
                             "dtype=f32 table_dtype=f16"}) {
      const std::string types = cat("rows=40 ", pair, " ", update);
      if (cases.size() % 2 == 0)
        cases.push_back({gradients(90, 4, cat(types, " dim=24 dense=8"))});
      else
        cases.push_back({gradients(91, 2, cat(types, " dim=7,13 dense=3")), 1});
    }
    const std::string mixed = cat("rows=99 dtype=bf16 dim=16,32,8,40 table_dtype=f32,f16,bf16,f32 ", update);
    cases.push_back({gradients(130, 4, mixed)});
    cases.push_back({gradients(9, 2, cat("rows=5 dim=1000,2049 ", update))});
    cases.push_back({gradients(60, 2, cat("rows=3 dim=512,136 dtype=bf16 table_dtype=f32 ", update))});
    if (update == "optimizer=none") continue;
    cases.push_back({gradients(130, 4, cat(mixed, " rounding=stochastic"))});
    cases.push_back(
        {gradients(61, 2, cat("rows=9 dim=7 dtype=f16 table_dtype=f16,bf16 ", update, " rounding=stochastic")), 1});
  }
  for (int dim = 1; dim < 40; dim += dim < 9 ? 1 : 5)
    cases.push_back(
        {gradients(50, 3, cat("rows=30 dtype=f16 dim=", dim, " dense=", dim % 4, " ", kUpdates[cases.size() % 4])),
         dim % 4});
}

void gradients_of_vocabularies(std::vector<Case>& cases) {
  for (const char* index : {"index=i64", "index=i32"}) {
    const std::string how = cat(" hash=index rows=50,3,90 capacity=128,4,256 ", index);
    cases.push_back({gradients(90, 3, cat("dim=8 optimizer=sgd padding=0", how))});
    cases.push_back({of_bags(40, 3, "mean", 900, cat("dim=5 dtype=bf16 padding=2", how)), 1});
    cases.push_back({of_bags(40, 3, "max", 900, cat("dim=5 dtype=f16", how))});
  }
}

// Gaps in tables, ids and gradients stay as they were, and are not read.
void gradients_with_gaps(std::vector<Case>& cases) {
  for (const std::string& update : kUpdates) {
    const std::string rest = cat(" ", update);
    cases.push_back({gradients(
        70, 3, cat("rows=20 dim=16 strides=24,16,20 dense=12 dense_stride=20 index_stride=9 out_stride=72", rest))});
    cases.push_back(
        {gradients(70, 3, cat("rows=20 dim=5,6,7 strides=5,9,8 dense_stride=1 dense=1 out_stride=23 dtype=bf16", rest)),
         1});
  }
}

void gradients_of_bags(std::vector<Case>& cases) {
  const std::vector<std::string> types = {"", "dtype=bf16", "dtype=f16 table_dtype=f32"};
  for (const char* pooling : {"sum", "mean", "max"}) {
    for (const std::string& update : kUpdates) {
      const std::string how = cat(types[cases.size() % types.size()], " ", update);
      cases.push_back({of_bags(65, 3, pooling, 2000, cat(how, " dim=16 rows=40"))});
      cases.push_back({of_bags(33, 2, pooling, 40, cat(how, " dim=5,12 rows=40,1 padding=3,-1 dense=2")), 1});
      cases.push_back({of_bags(20, 2, pooling, 300, cat(how, " dim=33,72 rows=4,9 dense=8"))});
    }
    const std::string& mode = kGradientModes[cases.size() % kGradientModes.size()];
    cases.push_back({of_bags(50, 4, pooling, 1000, cat("dim=8 rows=10 offsets=i32 padding=2 mode=", mode)), 1});
    cases.push_back({of_bags(50, 2, pooling, 0, "dim=8 rows=10 dense=4")});
    cases.push_back({of_bags(0, 2, pooling, 0, "dim=8 rows=10")});
    cases.push_back({of_bags(1, 1, pooling, 3000, "dim=64 rows=100 index=i32")});
    cases.push_back({of_bags(1, 1, pooling, 3000, "dim=64 rows=1 optimizer=row_adagrad")});
    cases.push_back({of_bags(40, 9, pooling, 777, "dim=16 rows=100 hash=modulus padding=0 index=i32 offsets=i32")});
  }
  for (const std::string& update : kUpdates) {
    const char* const weights[] = {"f32", "f16", "bf16"};
    const std::string how = cat("sample_weights=", weights[(cases.size() + cases.size() / 3) % 3], " ", update);
    cases.push_back({of_bags(60, 3, "sum", 900, cat("dim=16 rows=50 ", how))});
    cases.push_back({of_bags(60, 2, "sum", 900, cat("dim=3,9 rows=50 dtype=f16 padding=1 mode=zero ", how)), 1});
    cases.push_back({of_bags(9, 2, "sum", 90, cat("dim=8,600 rows=50 dtype=bf16 ", how))});
  }
}

}  // namespace

std::vector<Case> embedding_backward_cases() {
  std::vector<Case> cases;
  runs_of_ids(cases);
  modes_and_types(cases);
  gradients_of_vocabularies(cases);
  gradients_with_gaps(cases);
  gradients_of_bags(cases);
  for (const char* config :
       {"sum.elements=1,sum.lanes=16,sum.batch=1,sum.positions=32", "sum.elements=2,sum.lanes=32,sum.batch=4",
        "sum.positions=2,sum.threads=128,sum.resident=1", "sum.threads=512,sum.resident=2,sum.lanes=8",
        "sort.threads=512,sort.bits=9,sort.unroll=8", "sort.bits=4,sort.threads=1024", "sort.bits=5,sort.unroll=2"}) {
    cases.push_back(with(config, gradients(500, 5, cat("dense=16 rows=5000,1,3,40,17 ", kUpdates[cases.size() % 4]))));
  }
  for (const char* config : {"bags.elements=1,bags.lanes=32", "bags.elements=2,bags.lanes=8",
                             "bags.elements=4,bags.lanes=4,bags.threads=64"})
    cases.push_back(with(config, of_bags(30, 3, "sum", 700, "dim=16 rows=50 sample_weights=f32")));
  return cases;
}

}  // namespace quern::test
