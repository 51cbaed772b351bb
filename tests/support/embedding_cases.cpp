// Tables of recommenders: every hash, mode, pooling and type, at every width and misalignment.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {
namespace {

const std::vector<std::string> kEmbeddingModes = {
    "assume_valid", "minus_one_is_zero", "zero", "clamp", "wrap_negative", "report", "first", "report_first"};

std::string lookup(int batch, int tables, const std::string& rest) {
  return cat("embedding batch=", batch, " tables=", tables, " ", rest);
}
std::string pooled(int batch, int tables, const std::string& pooling, int count, const std::string& rest) {
  return lookup(batch, tables, cat("pooling=", pooling, " count=", count, " ", rest));
}

// The model of the talk: 26 features of 16 numbers behind a dense part of 16.
void published_lookups(std::vector<Case>& cases) {
  for (const int batch : {0, 1, 2, 64, 128, 4096})
    cases.push_back({lookup(batch, 26, "dense=16 hash=modulus rows=1000")});
  for (const int tables : {1, 13, 40, 64}) {
    for (const char* dim : {"1", "4", "8", "16", "32", "64", "128"})
      cases.push_back({lookup(65, tables, cat("rows=257 hash=modulus dim=", dim)), tables % 3});
  }
  cases.push_back({lookup(300, 6, "dim=4 hash=modulus rows=1,2,3,1000,65537,10000000")});
  cases.push_back({lookup(300, 6, "dim=4 hash=modulus rows=1,2,3,1000,65537,4194304 index=i32"), 1});
  cases.push_back({lookup(65536, 26, "dense=16 hash=modulus rows=1000"), 0, false, Indices::generated, 0.5f, "", true});
}

void lookups_in_vocabularies(std::vector<Case>& cases) {
  for (const char* index : {"i64", "i32"}) {
    cases.push_back(
        {lookup(200, 4, cat("hash=index rows=100,1,2,63 capacity=256,2,8,64 dim=8 dense=4 index=", index))});
    cases.push_back({lookup(77, 2, cat("hash=index rows=50 capacity=128 dim=3 dtype=bf16 index=", index)), 1});
    cases.push_back({pooled(40, 2, "mean", 700, cat("hash=index rows=30 capacity=64 dim=16 padding=0 index=", index))});
  }
  cases.push_back({lookup(33, 26, "hash=index rows=1000 capacity=2048 dense=16")});
}

void odd_lookups(std::vector<Case>& cases) {
  for (const std::string& mode : kEmbeddingModes) {
    for (const char* index : {"i64", "i32"}) {
      cases.push_back({lookup(77, 3, cat("dim=5,16,3 rows=9,100,1 dtype=bf16 mode=", mode, " index=", index)), 1});
      cases.push_back({lookup(200, 5, cat("dim=32 rows=50 mode=", mode, " index=", index))});
    }
  }
  for (const char* type : {"f32", "f16", "bf16"}) {
    for (const char* table : {"f32", "f16", "bf16", "e4m3", "e5m2", "i8"}) {
      const std::string types = cat("rows=40 dtype=", type, " table_dtype=", table);
      cases.push_back({lookup(90, 4, cat(types, " dim=24 dense=8"))});
      cases.push_back({lookup(91, 2, cat(types, " dim=7,13 dense=3")), 1});
      const bool narrow = std::string(table) == "e4m3" || std::string(table) == "e5m2" || std::string(table) == "i8";
      const char* const scales[] = {"f32", "f16", "bf16"};
      if (narrow) cases.push_back({lookup(60, 3, cat(types, " dim=8,48,16 scale=", scales[cases.size() % 3]))});
    }
    cases.push_back({lookup(130, 6,
                            cat("rows=99 dtype=", type,
                                " dim=16,32,8,8,64,16 scale=f32 "
                                "table_dtype=f32,f16,bf16,e4m3,e5m2,i8"))});
  }
  for (int dim = 1; dim < 34; dim += dim < 18 ? 1 : 5)
    cases.push_back({lookup(50, 3, cat("rows=30 dtype=f16 dim=", dim, " dense=", dim % 4)), dim % 4});
  cases.push_back({lookup(3, 2, "rows=5 dim=1000,2049")});
}

// Gaps in tables, ids, dense and out stay as they were, and are not read.
void lookups_with_gaps(std::vector<Case>& cases) {
  cases.push_back(
      {lookup(70, 3, "rows=20 dim=16 strides=24,16,20 dense=12 dense_stride=20 index_stride=9 out_stride=72")});
  cases.push_back(
      {lookup(70, 3, "rows=20 dim=5,6,7 strides=5,9,8 dense_stride=1 dense=1 out_stride=23 dtype=bf16"), 1});
  cases.push_back({lookup(70, 2, "rows=20 dim=60 table_dtype=i8 strides=64 scale=f32 scale_strides=16 dtype=f16")});
  cases.push_back({lookup(70, 2, "rows=20 dim=60,4 table_dtype=i8,f32 scale=bf16 scale_strides=3,0")});
}

// In one operand, by an array on the device: other begins, and fewer rows than there may be.
void packed_lookups(std::vector<Case>& cases) {
  const std::string packed = " layout=packed";
  for (const std::string& mode : kEmbeddingModes)
    cases.push_back({lookup(77, 3, cat("dim=8,16,4 rows=9,100,1 dtype=bf16 mode=", mode, packed)),
                     static_cast<int>(cases.size() % 2)});
  for (const char* index : {"i64", "i32"}) {
    cases.push_back({lookup(129, 26, cat("dim=16 rows=1000 hash=modulus dense=16 index=", index, packed))});
    cases.push_back({lookup(60, 4, cat("hash=index rows=100,1,2,63 capacity=256,2,8,64 dim=8 index=", index, packed))});
  }
  for (const char* table : {"f32", "f16", "bf16", "e4m3", "e5m2", "i8"})
    cases.push_back({lookup(90, 5, cat("rows=40 dim=24,5,8,1,16 dtype=f16 dense=3 table_dtype=", table, packed)), 1});
  cases.push_back({lookup(70, 3, cat("rows=20,6,9 dim=16 strides=24,16,20 dense=12 out_stride=72", packed))});
  cases.push_back({lookup(3, 64, cat("rows=5 dim=4 mode=clamp", packed))});
  cases.push_back({pooled(65, 3, "sum", 2000, cat("dim=16 rows=40 mode=zero padding=3", packed))});
  cases.push_back({pooled(40, 5, "mean", 777, cat("dim=16 rows=100 hash=modulus padding=0", packed))});
  cases.push_back({lookup(50, 3, cat("dim=32 rows=30 dtype=bf16 scaling=mx hash=modulus", packed))});
}

void bags(std::vector<Case>& cases) {
  const std::vector<std::string> types = {"", "dtype=bf16", "dtype=f16 table_dtype=f32",
                                          "dtype=bf16 table_dtype=i8 scale=f32", "table_dtype=e4m3"};
  for (const char* pooling : {"sum", "mean", "max"}) {
    for (const std::string& type : types) {
      cases.push_back({pooled(65, 3, pooling, 2000, cat(type, " dim=16 rows=40"))});
      cases.push_back({pooled(33, 2, pooling, 40, cat(type, " dim=5,12 rows=40,1 padding=3,-1 dense=2")), 1});
    }
    for (const std::string& mode : kEmbeddingModes)
      cases.push_back({pooled(50, 4, pooling, 1000, cat("dim=8 rows=10 mode=", mode, " offsets=i32 padding=2")), 1});
    cases.push_back({pooled(50, 2, pooling, 0, "dim=8 rows=10")});
    cases.push_back({pooled(0, 2, pooling, 0, "dim=8 rows=10")});
    cases.push_back({pooled(1, 1, pooling, 3000, "dim=64 rows=100 index=i32")});
    cases.push_back({pooled(40, 5, pooling, 777, "dim=16 rows=100 hash=modulus padding=0 index=i32 offsets=i32")});
  }
  for (const char* weights : {"f32", "f16", "bf16"}) {
    cases.push_back({pooled(60, 3, "sum", 900, cat("dim=16 rows=50 sample_weights=", weights))});
    cases.push_back(
        {pooled(60, 2, "sum", 900, cat("dim=3,9 rows=50 dtype=f16 padding=1 sample_weights=", weights)), 1});
  }
  for (const char* unroll : {"1", "2", "8"})
    cases.push_back(
        with(cat("elements=2,unroll=", unroll), pooled(30, 3, "sum", 700, "dim=16 rows=50 sample_weights=f32")));
}

}  // namespace

std::vector<Case> embedding_cases() {
  std::vector<Case> cases;
  published_lookups(cases);
  lookups_in_vocabularies(cases);
  odd_lookups(cases);
  lookups_with_gaps(cases);
  packed_lookups(cases);
  bags(cases);
  for (const char* config :
       {"elements=1,unroll=1,threads=64", "elements=4,unroll=8", "elements=2,unroll=4,load_once=1"})
    cases.push_back(with(config, lookup(500, 26, "dense=16 hash=modulus rows=100")));
  return cases;
}

}  // namespace quern::test
