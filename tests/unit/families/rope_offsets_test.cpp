// How wide rope's offsets within a tensor are: of few elements narrow ones, where all tensors are below 2 GiB.
#include <gtest/gtest.h>

#include <string>

#include "rope/step.h"
#include "unit/families/support.h"

namespace quern {
namespace {

int offset_bits(const std::string& fields) {
  return test::variants_of(test::problem("rope " + fields)).at(0).config[rope::kOffsets];
}

TEST(RopeOffsets, AreNarrowWhereFewElementsLieWithin2GiB) {
  EXPECT_EQ(offset_bits("batch=64 seq=1"), 32);
  EXPECT_EQ(offset_bits("batch=1 seq=4095"), 32);
  EXPECT_EQ(offset_bits("batch=1 seq=4096"), 64) << "many elements";
  EXPECT_EQ(offset_bits("batch=4 seq=8192"), 64) << "many elements";
  EXPECT_EQ(offset_bits("batch=2 seq=1 q_strides=1073737600,4096,128"), 32) << "2^31 bytes less 256";
  EXPECT_EQ(offset_bits("batch=2 seq=1 q_strides=1073737728,4096,128"), 64);
  EXPECT_EQ(offset_bits("batch=2 seq=1 q_out_strides=1073737728,4096,128"), 64);
  const std::string cache = "batch=2 seq=1 kv_heads=8 cache=slots page_size=16 cache_pages=";
  EXPECT_EQ(offset_bits(cache + "65535"), 32);
  EXPECT_EQ(offset_bits(cache + "65536"), 64) << "2^31 bytes of keys";
  EXPECT_EQ(offset_bits(cache + "65536 element=e4m3"), 32);
  EXPECT_EQ(offset_bits("batch=open seq=1 kv_heads=8 cache=slots page_size=16 cache_pages=65536"), 64);
}

TEST(RopeOffsets, AreNarrowWhereCosinesAreComputed) {
  EXPECT_EQ(offset_bits("batch=4 seq=8192 table=computed"), 32);
  EXPECT_EQ(offset_bits("batch=4 seq=8192 table=computed q_strides=1073737728,4096,128"), 64);
  EXPECT_EQ(offset_bits("batch=4 seq=8192 table=computed kv_heads=8 cache=slots page_size=16 cache_pages=64"), 64);
}

// Regression: scales of fp32 for each element were in more bytes than the elements.
TEST(RopeOffsets, ReachAllScales) {
  const std::string cache =
      "seq=4 heads=1 kv_heads=1 head_dim=1 rotary_offset=1 cache=slots page_size=16 element=e4m3 scaling=row "
      "cache_pages=";
  EXPECT_EQ(offset_bits(cache + "33554431"), 32);
  EXPECT_EQ(offset_bits(cache + "33554432"), 64) << "2^31 bytes of scales";
}

TEST(RopeOffsets, OfStridesThatOverflowAreWide) {
  EXPECT_EQ(offset_bits("batch=1 seq=65536 heads=1 head_dim=2 q_strides=0,70368744177664,2"), 64);
  EXPECT_EQ(offset_bits("batch=1 seq=65537 heads=1 head_dim=2 q_strides=0,70368744177664,2"), 64);
}

TEST(RopeOffsets, OfOpenBatchesAreDecidedByTheLaunch) {
  const auto few = test::variants_of(test::problem("rope batch=open seq=1 q_strides=1073737728,4096,128")).at(0);
  EXPECT_EQ(few.config[rope::kOffsets], 32);
  const auto fits = [&](const char* batch) {
    return few.fits(test::problem(std::string("rope seq=1 q_strides=1073737728,4096,128 batch=") + batch).data());
  };
  EXPECT_TRUE(fits("1"));
  EXPECT_FALSE(fits("1 heads=16384")) << "2^21 elements";
  EXPECT_FALSE(fits("2"));
}

}  // namespace
}  // namespace quern
