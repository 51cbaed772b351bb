// The staged form of rope: which problems have it, and its launches.
#include "rope/staged.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "rope/vectors.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::variant_summary;

Rope rope_of(const std::string& fields) { return *static_cast<const Rope*>(test::problem("rope " + fields).data()); }
bool may_be_staged(const std::string& fields) { return rope::may_be_staged(rope_of(fields), {}); }
bool is_default(const std::string& fields) { return rope::is_staged_by_default(rope_of(fields)); }

TEST(RopeStaged, IsForHeadsWhosePartsNoAccessOf8BytesDivides) {
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 head_dim=82"), "staged:16:16 vector:2:4 ");
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 head_dim=92"), "staged:16:16 vector:4:8 element:2:4 ");
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 head_dim=82 style=interleaved"),
            "staged:16:16 vector:4:4 element:2:4 ");
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 head_dim=82 dtype=f32 kv_heads=8 layout=sbhd"),
            "staged:16:16 vector:4:4 ");
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 rotary_dim=50 rotary_offset=1"), "staged:16:16 vector:2:4 ");
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 head_dim=88"), "vector:8:16 element:2:4 ");
  EXPECT_TRUE(may_be_staged("head_dim=88")) << "to be tuned";
  EXPECT_FALSE(may_be_staged("head_dim=128"));
  EXPECT_FALSE(may_be_staged("head_dim=80"));
}

TEST(RopeStaged, IsNotForFewElements) {
  EXPECT_EQ(variant_summary("rope batch=4 seq=9 head_dim=82"), "vector:2:4 ");
  EXPECT_EQ(variant_summary("rope head_dim=82"), "few:2:4 staged:16:16 vector:2:4 ") << "the launch chooses";
  EXPECT_EQ(variant_summary("rope head_dim=92"), "few:4:8 staged:16:16 vector:4:8 element:2:4 ");
}

TEST(RopeStaged, IsNotForWhatIsPlacedQuantizedOrNotTouched) {
  EXPECT_TRUE(may_be_staged("head_dim=82 kv_heads=8 place=in_place pass=backward table=angles layout=thd batch=3"));
  EXPECT_FALSE(may_be_staged("head_dim=82 kv_heads=8 values=copied"));
  EXPECT_FALSE(may_be_staged("head_dim=82 kv_heads=8 cache=positions page_size=16"));
  EXPECT_FALSE(may_be_staged("head_dim=82 element=e4m3 quantized=all"));
  EXPECT_FALSE(may_be_staged("head_dim=82 kv_heads=8 q_strides=99999,7872,82,984"));
  EXPECT_FALSE(may_be_staged("head_dim=128 rotary_dim=50 place=in_place"));
  EXPECT_TRUE(may_be_staged("head_dim=128 rotary_dim=50"));
  EXPECT_FALSE(may_be_staged("head_dim=7 rotary_offset=7")) << "nothing is rotated";
  EXPECT_FALSE(may_be_staged("head_dim=24578")) << "4 heads are whole accesses, and 192 KiB";
}

// Heads of a token are adjacent, and tokens begin where a wide access may be.
TEST(RopeStaged, FollowsStrides) {
  EXPECT_TRUE(is_default("seq=9 head_dim=82 place=in_place q_out_strides=70848,7872,82"));
  EXPECT_FALSE(may_be_staged("seq=9 head_dim=82 q_strides=99999,3000,83")) << "gaps between heads";
  EXPECT_FALSE(may_be_staged("seq=9 head_dim=82 q_strides=99999,2625,82")) << "tokens at any element";
  EXPECT_EQ(rope::run_vector(rope_of("seq=9 head_dim=82 heads=3 q_strides=9216,512,82"), 16), 4)
      << "of q_out: 492 bytes a token";
  EXPECT_TRUE(may_be_staged("seq=9 head_dim=82 heads=3 q_strides=9216,512,82 q_out_strides=9216,512,82"));
  EXPECT_FALSE(is_default("seq=9 head_dim=82 heads=3 q_strides=9216,512,82 q_out_strides=9216,512,82"))
      << "492 bytes a run";
  EXPECT_EQ(rope::run_vector(rope_of("seq=9 head_dim=82 q_strides=90000,2628,82"), 16), 8);
  EXPECT_TRUE(may_be_staged("head_dim=82 layout=bhsd"));
  EXPECT_FALSE(is_default("head_dim=82 layout=bhsd")) << "adjacent heads are of other tokens, with other angles";
  EXPECT_EQ(rope::run_vector(rope_of("head_dim=82 layout=bhsd seq=8 q_strides=0,82,656"), 16), 4)
      << "of q_out: any seq is one image";
}

struct Geometry {
  std::uint32_t blocks, threads, shared;
  bool empty;
};
Geometry geometry(const std::string& text, const Config& config) {
  const AnyProblem p = test::problem("rope " + text);
  const RopeArgs args;
  Launch launch;
  test::step_of(p).launch(p.data(), &args, generic_model(90), config, launch);
  return {launch.grid[0], launch.block[0], launch.shared_bytes, launch.empty};
}
Config config_of(std::int32_t run) {
  Config c = rope::staged_config(rope_of("head_dim=82"));
  c[rope::kRun] = run;
  return c;
}

TEST(RopeStaged, TakesRunsThroughTokensWithoutGaps) {
  const Config config = config_of(32);
  EXPECT_EQ(config[rope::kVector], 16);
  EXPECT_EQ(rope::staged_config(rope_of("head_dim=82"))[rope::kRun], 32) << "5248 bytes; twice are above 8 KiB";
  const Geometry one = geometry("batch=2 seq=4096 heads=32 head_dim=82", config);
  EXPECT_EQ(one.blocks, 2 * 4096);
  EXPECT_EQ(one.threads, 128);
  EXPECT_EQ(one.shared, 32 * 164);
  EXPECT_EQ(geometry("batch=2 seq=5 heads=3 head_dim=82", config).blocks, 1) << "30 heads";
  EXPECT_EQ(geometry("batch=2 seq=5 heads=3 head_dim=82", config).shared, 30 * 164);
  EXPECT_EQ(geometry("batch=2 seq=11 heads=3 kv_heads=1 head_dim=82", config).blocks, 3 + 1) << "66 and 22 heads";
  EXPECT_EQ(geometry("batch=7 seq=11 heads=3 head_dim=82 layout=bhsd", config).blocks, 8) << "231 heads";
}

TEST(RopeStaged, EndsRunsWhereThereAreGaps) {
  const std::string qkv = "batch=2 seq=5 heads=20 kv_heads=4 head_dim=82 place=in_place ";
  const std::string strides = "q_out_strides=11520,2304,82 k_out_strides=11520,2304,82";
  EXPECT_EQ(geometry(qkv + strides, config_of(8)).blocks, 10 * 3 + 10) << "20 heads in runs of 8, and 4";
  EXPECT_EQ(geometry(qkv + strides, config_of(32)).blocks, 10 + 10);
  EXPECT_EQ(geometry(qkv + strides, config_of(32)).shared, 20 * 164);
  EXPECT_EQ(geometry(qkv, config_of(32)).blocks, 7 + 2) << "200 and 40 heads";
}

TEST(RopeStaged, IsEmptyWithoutHeads) {
  for (const char* extents : {"batch=0 seq=5", "batch=2 seq=0", "batch=2 seq=5 heads=0"})
    EXPECT_TRUE(geometry(std::string(extents) + " head_dim=82", config_of(32)).empty) << extents;
  EXPECT_EQ(geometry("batch=2 seq=5 heads=0 kv_heads=4 head_dim=82", config_of(32)).blocks, 2);
}

TEST(RopeStaged, HasRunsOfWholeAccesses) {
  for (const char* fields : {"head_dim=2", "head_dim=6", "head_dim=82", "head_dim=106 dtype=f32", "head_dim=4098",
                             "head_dim=4098 dtype=f32", "head_dim=65 rotary_dim=2"}) {
    const Rope p = rope_of(fields);
    const Config c = rope::staged_config(p);
    EXPECT_EQ(c[rope::kRun] * p.head_dim * bytes(p.dtype) % 16, 0) << fields;
    EXPECT_TRUE(rope::run_fits(p, {}, c)) << fields;
    EXPECT_TRUE(rope::may_be_staged(p, c)) << fields;
  }
}

}  // namespace
}  // namespace quern
