// embedding's refusals, the memory of its operands, its reference by hand, its variants and launches.
#include "embedding/embedding.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "base/text.h"
#include "embedding/params.h"
#include "embedding/shape.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::span;

std::string embedding_refusal(const std::string& fields) { return test::refusal("embedding " + fields); }

TEST(EmbeddingProblem, TakesOneEntryForAllTablesOrOneForEach) {
  EXPECT_EQ(embedding_refusal(""), "");
  EXPECT_EQ(embedding_refusal("tables=3 dim=4,5,6 rows=7 table_dtype=f32,i8,bf16"), "");
  EXPECT_TRUE(has(embedding_refusal("tables=3 dim=4,5"), "dim has 2 entries: it needs one for each of the 3 tables"));
  EXPECT_TRUE(has(embedding_refusal("rows=none"), "rows has 0 entries"));
  EXPECT_TRUE(has(embedding_refusal("tables=3 strides=1,2"), "or one for all of them, or none"));
  EXPECT_TRUE(has(embedding_refusal("tables=3 table_dtype=f32,f32"), "table_dtype has 2 entries"));
}

TEST(EmbeddingProblem, RefusesACardinalityOfZeroAndTooManyTables) {
  EXPECT_TRUE(has(test::parse_error("embedding rows=0"), "rows=0 is not accepted"));
  EXPECT_TRUE(has(test::parse_error("embedding rows=10,0,3"), "rows=10,0,3 is not accepted"));
  EXPECT_TRUE(has(test::parse_error("embedding dim=0"), "dim=0 is not accepted"));
  EXPECT_TRUE(has(test::parse_error("embedding tables=65"), "it takes 1 to 64"));
  EXPECT_TRUE(has(test::parse_error("embedding table_dtype=f32,i16"), "f32, f16, bf16, e4m3, e5m2, i8"));
}

TEST(EmbeddingProblem, RefusesRowsThatOverlapInOutOrAreTooLarge) {
  EXPECT_TRUE(
      has(embedding_refusal("tables=2 dim=8 dense=3 out_stride=18"), "out_stride is below the elements of a row, 19"));
  EXPECT_EQ(embedding_refusal("tables=2 dim=8 dense=3 out_stride=19"), "");
  EXPECT_TRUE(has(embedding_refusal("dim=268435456"), "dim is too large: below 2^28"));
  EXPECT_TRUE(has(embedding_refusal("tables=2 strides=1,268435456"), "strides[1] is too large"));
  EXPECT_TRUE(has(embedding_refusal("tables=2 dim=200000000 rows=1"), "a row of out has below 2^28"));
  EXPECT_TRUE(has(embedding_refusal("rows=70368744177664"), "rows is too large"));
  EXPECT_TRUE(has(embedding_refusal("batch=70368744177664"), "batch is too large"));
}

TEST(EmbeddingProblem, RefusesFieldsThatHaveNoMeaning) {
  EXPECT_TRUE(has(embedding_refusal("count=5"), "set pooling=sum, mean or max"));
  EXPECT_TRUE(has(embedding_refusal("padding=5"), "padding is what bags pass over"));
  EXPECT_TRUE(has(embedding_refusal("sample_weights=f32"), "sample_weights are for pooling=sum"));
  EXPECT_TRUE(has(embedding_refusal("sample_weights=f32 pooling=mean"), "sample_weights are for pooling=sum"));
  EXPECT_TRUE(has(embedding_refusal("index_stride=30 pooling=sum"), "index_stride is for pooling=none"));
  EXPECT_TRUE(has(embedding_refusal("bags=lengths"), "bags is how ids are divided: set pooling"));
  EXPECT_TRUE(has(embedding_refusal("hash=modulus mode=zero"), "with a hash every id names a row"));
  EXPECT_TRUE(has(embedding_refusal("capacity=8"), "set hash=index"));
  EXPECT_TRUE(has(embedding_refusal("hash=index"), "capacity has 0 entries"));
  EXPECT_TRUE(has(embedding_refusal("hash=index tables=2 capacity=8,12"), "capacity[1]=12 is not a power of two"));
  EXPECT_TRUE(has(embedding_refusal("scale=f32"), "scale is of tables of an 8-bit type"));
  EXPECT_TRUE(has(embedding_refusal("scale_strides=4 table_dtype=i8"), "scale_strides is for scales"));
  EXPECT_EQ(embedding_refusal("pooling=sum padding=-1 count=5 sample_weights=bf16"), "");
}

TEST(EmbeddingProblem, PackedTablesHaveOneTypeAndNoScale) {
  EXPECT_EQ(embedding_refusal("layout=packed tables=3 dim=4,8,12 table_dtype=i8 dtype=bf16 pooling=sum count=9"), "");
  EXPECT_EQ(embedding_refusal("layout=packed hash=index capacity=16"), "");
  EXPECT_TRUE(has(embedding_refusal("layout=packed pass=backward"), "layout=packed is for pass=forward"));
  EXPECT_TRUE(has(embedding_refusal("layout=packed tables=2 table_dtype=f32,bf16"), "tables of one type"));
  EXPECT_TRUE(has(embedding_refusal("layout=packed table_dtype=i8 scale=f32"), "tables without scale"));
  EXPECT_EQ(embedding_refusal("layout=packed tables=2 dim=1 rows=35184372088832"), "");
  EXPECT_TRUE(has(embedding_refusal("layout=packed tables=2 dim=1 rows=35184372088833"), "at most 2^46 elements"));
}

TEST(EmbeddingProblem, RefusesScalingsThatHaveNoMeaning) {
  EXPECT_TRUE(has(embedding_refusal("element=e5m2"), "say scaling=mx, tensor, row or block128"));
  EXPECT_TRUE(has(embedding_refusal("scale_layout=blocked"), "say scaling=mx, tensor, row or block128"));
  EXPECT_TRUE(has(embedding_refusal("scaling=mx pass=backward"), "leave scaling out"));
  EXPECT_TRUE(has(embedding_refusal("scaling=mx scale_mode=exact"), "scaling=row or block128"));
  EXPECT_TRUE(has(embedding_refusal("scaling=row scale_layout=blocked"), "fp32 scales are plain"));
  EXPECT_TRUE(has(embedding_refusal("scaling=row policy=te"), "policy=te goes with scaling=mx"));
  EXPECT_TRUE(has(embedding_refusal("scaling=mx policy=te scale_mode=floor"), "and scale_mode=rceil"));
  EXPECT_TRUE(has(embedding_refusal("scaling=tensor scale_mode=floor"), "leave scale_mode out"));
  EXPECT_EQ(embedding_refusal("scaling=block128 scale_mode=exact tables=3 dim=5,6,7"), "");
}

std::int64_t entry_span(const std::string& fields, std::string_view operand, int entry) {
  const AnyProblem p = test::problem("embedding " + fields);
  for (const Operand& each : p.family().operands) {
    if (each.name == operand) return entry < each.count(p.data()) ? each.layout(p.data(), entry).span_bytes() : -1;
  }
  return -1;
}

TEST(EmbeddingOperands, FollowFromTheFields) {
  const std::string plain = "batch=10 tables=2 dim=3,5 rows=4,6 strides=7,0 dense=2 dtype=bf16 table_dtype=f32,i8 ";
  EXPECT_EQ(entry_span(plain, "weights", 0), (3 * 7 + 3) * 4);
  EXPECT_EQ(entry_span(plain, "weights", 1), 6 * 5);
  EXPECT_EQ(entry_span(plain, "scales", 0), -1);
  EXPECT_EQ(entry_span(plain + "scale=f16 scale_strides=9,3", "scales", 0), 0) << "f32 has none";
  EXPECT_EQ(entry_span(plain + "scale=f16 scale_strides=9,3", "scales", 1), (5 * 3 + 1) * 2);
  EXPECT_EQ(span("embedding " + plain, "out"), 10 * 10 * 2);
  EXPECT_EQ(span("embedding " + plain, "dense"), 10 * 2 * 2);
  EXPECT_EQ(span("embedding " + plain + "index_stride=5 index=i32", "index"), (9 * 5 + 2) * 4);
  EXPECT_EQ(span("embedding " + plain, "offsets"), 0);
  EXPECT_EQ(entry_span(plain, "vocabularies", 0), -1);
  EXPECT_EQ(entry_span(plain + "hash=index capacity=8,16", "vocabularies", 1), 16 * 16);
  EXPECT_EQ(span("embedding " + plain, "report"), 0);
  EXPECT_EQ(span("embedding " + plain + "mode=report", "report"), 8);
  EXPECT_EQ(span("embedding " + plain + "scaling=mx", "out"), 10 * 10);
  EXPECT_EQ(span("embedding " + plain + "scaling=row", "out_scales"), 10 * 4);
  EXPECT_EQ(span("embedding " + plain + "scaling=tensor", "out_scales"), 0);
  EXPECT_EQ(span("embedding " + plain + "scaling=tensor", "given_scale"), 4);
  const std::string packed = "batch=10 tables=2 dim=3,5 rows=4,6 strides=7,0 dtype=bf16 layout=packed ";
  EXPECT_EQ(entry_span(packed, "weights", 0), -1);
  EXPECT_EQ(span("embedding " + packed, "packed"), (4 * 7 + 6 * 5) * 2);
  EXPECT_EQ(span("embedding " + packed, "places"), 2 * 2 * 8);
  EXPECT_EQ(span("embedding " + plain, "packed"), 0);
  const std::string wide = "embedding batch=130 tables=1 dim=33 scaling=mx";
  EXPECT_EQ(span(wide, "out_scales"), 130 * 2) << "the last block is cut";
  EXPECT_EQ(span(wide + " scale_layout=blocked", "out_scales"), 256 * 4);
  const std::string bags = plain + "pooling=sum count=33 offsets=i32 sample_weights=f16";
  EXPECT_EQ(span("embedding " + bags, "index"), 33 * 8);
  EXPECT_EQ(span("embedding " + bags, "lengths"), 0);
  EXPECT_EQ(span("embedding " + bags, "workspace"), 0);
  EXPECT_EQ(span("embedding bags=lengths " + bags, "offsets"), 0);
  EXPECT_EQ(span("embedding bags=lengths " + bags, "lengths"), 20 * 4);
  EXPECT_EQ(span("embedding bags=lengths " + bags, "workspace"), (256 + 1 + 21) * 8);
  EXPECT_EQ(span("embedding " + bags, "offsets"), 20 * 4);
  EXPECT_EQ(span("embedding " + bags, "sample_weights"), 33 * 2);
}

// ---- The reference, by hand

std::vector<float> looked_up(const std::string& fields, const std::vector<float>& table,
                             const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& offsets,
                             const std::vector<float>& weights = {}) {
  const AnyProblem p = test::problem("embedding tables=1 " + fields);
  const In tables[] = {{table.data()}};
  std::vector<float> out(static_cast<std::size_t>(p.family().operands[7].layout(p.data()).elements()), -77.0f);
  EmbeddingArgs args;
  args.weights = {tables, 1};
  args.index = ids.data();
  args.offsets = offsets.data();
  args.sample_weights = weights.data();
  args.out = out.data();
  p.family().reference(p.data(), &args);
  return out;
}

using Floats = std::vector<float>;

TEST(EmbeddingReference, BagsAreAsPyTorchHasThem) {
  const Floats table = {1, 2, 3, 40, 50, 60};  // three rows of two
  const std::string bags = "dim=2 rows=3 batch=3 count=4 ";
  const std::vector<std::int64_t> ids = {0, 2, 1, 1}, offsets = {0, 3, 3};
  EXPECT_EQ(looked_up(bags + "pooling=sum", table, ids, offsets), Floats({54, 102, 0, 0, 3, 40}));
  EXPECT_EQ(looked_up(bags + "pooling=mean", table, ids, offsets), Floats({18, 34, 0, 0, 3, 40}));
  EXPECT_EQ(looked_up(bags + "pooling=max", table, ids, offsets), Floats({50, 60, 0, 0, 3, 40}));
  EXPECT_EQ(looked_up(bags + "pooling=sum sample_weights=f32", table, ids, offsets, {2, 0.5f, -1, 3}),
            Floats({24, -6, 0, 0, 9, 120}));
  EXPECT_EQ(looked_up(bags + "pooling=mean padding=2", table, ids, offsets), Floats({2, 21, 0, 0, 3, 40}))
      << "what is passed over is not counted";
  EXPECT_EQ(looked_up(bags + "pooling=max padding=1", table, ids, offsets), Floats({50, 60, 0, 0, 0, 0}))
      << "a bag of padding is empty";
}

TEST(EmbeddingReference, ARowOfZerosCountsAndAPassedOverOneDoesNot) {
  const Floats table = {-1, -2, -3};
  const std::vector<std::int64_t> ids = {0, -1, 2}, offsets = {0};
  const std::string bag = "dim=1 rows=3 batch=1 count=3 ";
  EXPECT_EQ(looked_up(bag + "pooling=mean mode=zero", table, ids, offsets), Floats({-4.0f / 3}));
  EXPECT_EQ(looked_up(bag + "pooling=mean mode=zero padding=-1", table, ids, offsets), Floats({-2}));
  EXPECT_EQ(looked_up(bag + "pooling=max mode=zero", table, ids, offsets), Floats({0}));
  EXPECT_EQ(looked_up(bag + "pooling=max mode=zero padding=-1", table, ids, offsets), Floats({-1}));
  EXPECT_EQ(looked_up(bag + "pooling=sum mode=first", table, ids, offsets), Floats({-5}));
  EXPECT_EQ(looked_up(bag + "pooling=sum mode=wrap_negative", table, ids, offsets), Floats({-7}));
}

TEST(EmbeddingReference, ANaNIsTheLargestOfABag) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Floats& table : {Floats{nan, 1, 2}, Floats{1, nan, 2}, Floats{1, 2, nan}}) {
    const Floats out = looked_up("dim=1 rows=3 batch=1 count=3 pooling=max", table, {0, 1, 2}, {0});
    EXPECT_TRUE(std::isnan(out[0]));
  }
}

// ---- Images and launches

TEST(EmbeddingVariants, TakeTheMostElementsThatDivideEveryPlace) {
  const auto elements = [](const std::string& fields) {
    std::string all;
    for (const Variant& v : test::variants_of(test::problem("embedding " + fields)))
      all += cat(v.name, ":", v.config[0], " ");
    return all;
  };
  EXPECT_EQ(elements("dense=16"), "vector:4 half:2 element:1 ");
  EXPECT_EQ(elements("dtype=bf16"), "vector:8 half:4 quarter:2 element:1 ");
  EXPECT_EQ(elements("dtype=bf16 dense=4"), "vector:4 half:2 element:1 ");
  EXPECT_EQ(elements("tables=2 dim=16,6"), "vector:2 element:1 ");
  EXPECT_EQ(elements("tables=2 dim=16,5"), "vector:1 ");
  EXPECT_EQ(elements("dtype=bf16 table_dtype=f32"), "vector:4 half:2 element:1 ");
  EXPECT_EQ(elements("dtype=bf16 table_dtype=i8 strides=20"), "vector:4 half:2 element:1 ");
}

std::string constants_of(const AnyProblem& p, const Config& config) {
  Spec spec;
  test::step_of(p).specialize(p.data(), {90, "a"}, config, spec);
  std::string all;
  for (const Constant& constant : spec.constants()) all += cat(constant.name, "=", constant.value, " ");
  return all;
}

// Cardinalities, widths and the number of tables are not in an image, but for the power of two that holds them.
TEST(EmbeddingImages, AreFewForManyShapes) {
  std::set<std::string> images;
  for (int tables = 9; tables <= 32; ++tables) {
    for (const int dim : {16, 32, 48, 256}) {
      const AnyProblem p = test::problem(
          cat("embedding tables=", tables, " dim=", dim, " rows=", 1000 + 7 * tables * dim, " hash=modulus"));
      for (const Variant& v : test::variants_of(p)) images.insert(constants_of(p, v.config));
    }
  }
  EXPECT_EQ(images.size(), 3U) << "4, 2 and 1 elements";
}

Launch embedding_launch(const std::string& fields) {
  const AnyProblem p = test::problem("embedding " + fields);
  std::array<In, 64> entries{};
  EmbeddingArgs args;
  args.weights = args.scales = {entries.data(), static_cast<std::int64_t>(entries.size())};
  Launch launch;
  test::step_of(p).launch(p.data(), &args, generic_model(90), test::variants_of(p).at(0).config, launch);
  return launch;
}

TEST(EmbeddingLaunch, HasATileForEachPartOfOut) {
  // 27 * 16 numbers are 108 slots of 16 bytes: 128 lanes, of which 2 groups fit 256 threads, with 4 rows each.
  const Launch dlrm = embedding_launch("batch=65536 dense=16");
  EXPECT_EQ(dlrm.block[0], 256U);
  EXPECT_EQ(dlrm.grid[0], 65536U / 8);
  EXPECT_EQ(embedding_launch("batch=65536 pooling=sum").grid[0], 65536U / 2) << "a bag a thread";
  EXPECT_TRUE(embedding_launch("batch=0").empty);
}

}  // namespace
}  // namespace quern
