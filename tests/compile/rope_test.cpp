// rope through NVRTC.
#include "base/random.h"
#include "base/text.h"
#include "compile/support.h"

namespace quern::test {
namespace {

using RopeCompile = CompileTest;

// Architectures in turn.
TEST_F(RopeCompile, EachStyleTypeAndTable) {
  std::vector<Job> jobs;
  for (const char* style : {"half", "interleaved"}) {
    for (const char* type : {"bf16", "f16", "f32"}) {
      for (const char* table :
           {"separate", "doubled table_dtype=bf16", "joined table_dtype=f16", "angles", "computed"}) {
        const std::string& arch = kArchitectures[(jobs.size() + jobs.size() / 5) % kArchitectures.size()];
        jobs.push_back({cat("rope style=", style, " dtype=", type, " table=", table), arch});
      }
    }
  }
  expect_each_good(jobs);
}

TEST_F(RopeCompile, EachPositionAndPartOfAHead) {
  std::vector<Job> jobs;
  for (const char* fields :
       {"position=starts beyond=report table_rows=4096",
        "position=ids index=i32 beyond=identity layout=bhsd table_rows=4096",
        "head_dim=256 rotary_dim=64 rotary_offset=128 layout=sbhd",
        "head_dim=256 rotary_dim=64 place=in_place",
        "head_dim=92 style=interleaved table=computed theta=500000 rope_scaling=llama3",
        "head_dim=33 rotary_dim=30 pass=backward layout=thd",
        "position=ids sections=16,24,24",
        "position=ids sections=24,20,20 section_style=interleaved table=computed",
        "position=ids sections=32,32 section_style=apart",
        "position=ids sections=32,32 section_style=restarted table=joined",
        "position=tokens table=doubled style=interleaved dtype=f32 sections=16,16,32",
        "kv_heads=8 values=copied q_strides=24576,6144,128,768 k_strides=24576,6144,768 v_strides=24576,6144,768",
        "kv_heads=8 quantized=all element=e4m3",
        "kv_heads=8 values=copied element=e5m2 style=interleaved head_dim=80",
        "kv_heads=8 cache=slots cache_pages=99 page_size=16 values=copied element=e4m3 place=in_place rotary_dim=64",
        "kv_heads=8 quantized=all element=e4m3 scaling=mx",
        "kv_heads=8 quantized=all element=e4m3 scaling=mx batch=4 seq=4096",
        "kv_heads=8 quantized=all element=e5m2 scaling=row batch=4 seq=4096 dtype=f32 style=interleaved table=doubled",
        "kv_heads=8 cache=slots cache_pages=99 page_size=16 values=copied element=e4m3 place=in_place scaling=row",
        "kv_heads=8 quantized=all element=e5m2 scaling=block128 head_dim=80 table=computed style=interleaved",
        "kv_heads=8 quantized=all element=e5m2 scaling=row mode=exact head_dim=41 rotary_dim=40 dtype=f32",
        "kv_heads=8 values=copied rotary_dim=64 place=in_place",
        "kv_heads=8 cache=positions page_size=4096 layout=thd",
        "kv_heads=8 cache=slots cache_pages=99 page_size=16 values=copied layout=bhsd",
        "kv_heads=8 cache=pages cache_pages=99 page_size=16 max_pages=9 values=copied table=computed place=in_place",
        "head_dim=34 table=angles pass=backward style=interleaved layout=thd cp_size=2"}) {
    jobs.push_back({cat("rope ", fields), "sm_90a"});
    jobs.push_back({cat("rope ", fields), kArchitectures[jobs.size() / 2 % kArchitectures.size()]});
  }
  expect_each_good(jobs);
}

// Both halves of a head in accesses of 16 bytes, and the table too. Where cosines are computed, of two heads in 8.
TEST_F(RopeCompile, HeadsMoveInWideAccesses) {
  for (const char* style : {"half", "interleaved"}) {
    const Compiled image = compile(cat("rope seq=4096 batch=4 style=", style), "sm_90a");
    const int heads = parameter(image, 0, "unroll");
    EXPECT_EQ(heads, 1);
    EXPECT_EQ(widths(image, 0, false), "16") << style;
    EXPECT_EQ(widths(image, 0, true), "16") << style;
    const int reads = 4 * heads;  // the first heads, and in a loop all others
    EXPECT_EQ(accesses(image, 0, false, 16), reads + 4) << style << ": 8 cosines and 8 sines, once for all heads";
    EXPECT_EQ(accesses(image, 0, true, 16), 2 * heads) << style;
    const Compiled computed = compile(cat("rope seq=4096 batch=4 table=computed style=", style), "sm_90a");
    EXPECT_EQ(accesses(computed, 0, false, 8), 2 * reads + 4) << style << ": a frequency for each pair";
    EXPECT_EQ(widths(computed, 0, true), "8") << style;
  }
  EXPECT_EQ(widths(compile("rope seq=4096 head_dim=92 layout=bhsd", "sm_90a"), 0, true), "4");
  EXPECT_EQ(widths(compile("rope seq=4096", "sm_100a"), 0, true), "32");
}

TEST_F(RopeCompile, EachStagedForm) {
  std::vector<Job> jobs;
  for (const char* fields :
       {"head_dim=82", "head_dim=82 dtype=f32 pass=backward", "head_dim=92 place=in_place table=joined",
        "head_dim=82 style=interleaved dtype=f16", "head_dim=82 table=computed", "head_dim=82 table=angles layout=thd",
        "head_dim=130 rotary_dim=50 rotary_offset=1 layout=sbhd",
        "head_dim=106 position=ids beyond=report table_rows=4096", "head_dim=90 layout=thd cp_size=2",
        "head_dim=82 position=ids sections=16,13,12 section_style=interleaved table=computed"}) {
    jobs.push_back({cat("rope batch=8 seq=4096 ", fields), "sm_90a"});
    jobs.push_back({cat("rope batch=8 seq=4096 ", fields), kArchitectures[jobs.size() / 2 % kArchitectures.size()]});
  }
  jobs.push_back({"rope batch=8 seq=4096 head_dim=82", "sm_90a", "unroll=8"});
  jobs.push_back({"rope batch=8 seq=4096 head_dim=82", "sm_100a", "vector=32"});
  jobs.push_back({"rope batch=8 seq=4096 head_dim=82 layout=bhsd", "sm_90a", "form=1,vector=8"});
  expect_each_good(jobs);
}

// Runs in accesses of 16 bytes, and an end in accesses of one element.
TEST_F(RopeCompile, StagedHeadsMoveInWideAccesses) {
  const Compiled image = compile("rope seq=4096 batch=4 head_dim=82 table_dtype=bf16", "sm_90a");
  ASSERT_EQ(image.result.images.at(0).variant, "staged");
  EXPECT_EQ(widths(image, 0, false), "2 16");
  EXPECT_EQ(widths(image, 0, true), "2 16");
  EXPECT_EQ(accesses(image, 0, false, 16), 4 + 4) << "the first four of a thread, and in a loop all others";
  EXPECT_EQ(accesses(image, 0, true, 16), 4);
}

// From a token to more than 2 GiB; every tenth problem has extents that are open.
TEST_F(RopeCompile, ExtentsAndHeadsShareImages) {
  Random random(21);
  for (const char* fields :
       {"head_dim=128", "head_dim=82", "head_dim=128 table=computed", "head_dim=92", "head_dim=92 layout=bhsd",
        "head_dim=92 style=interleaved pass=backward", "head_dim=92 table=computed",
        "head_dim=92 table=angles pass=backward", "head_dim=96", "head_dim=90 dtype=f32",
        "head_dim=90 style=interleaved", "head_dim=80 pass=backward", "head_dim=64 dtype=f32 style=interleaved",
        "head_dim=64 element=e4m3 quantized=all scaling=mx"}) {
    std::vector<Job> jobs;
    for (int i = 0; i < 100; ++i) {
      const std::string open = i % 20 == 0 ? " seq=open" : i % 20 == 10 ? " seq=open batch=open" : "";
      const std::string extents =
          cat(" batch=", 1 + random.below(64), " seq=", 1 + random.below(1 << random.below(17)));
      jobs.push_back({cat("rope ", fields, open.empty() ? extents : open, " heads=", 1 + random.below(64),
                          " kv_heads=", random.below(9)),
                      "sm_90a"});
    }
    EXPECT_LE(images_of(jobs), 4U) << fields;
  }
}

}  // namespace
}  // namespace quern::test
