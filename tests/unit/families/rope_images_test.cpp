// How many images rope has of what differs in extents and heads: at most four, which a service can make ahead of time.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "rope/step.h"
#include "rope/tensors.h"
#include "unit/families/support.h"

namespace quern {
namespace {

// What of a config is in an image.
using Image = std::array<std::int32_t, 4>;

void add_images(const Rope& p, const Target& target, std::set<Image>& images) {
  Variant variants[kMaxVariants];
  const int count = rope::rope_variants(p, target, generic_model(target.arch), variants);
  for (int i = 0; i < count; ++i) {
    const Config& c = variants[i].config;
    images.insert({c[rope::kForm], c[rope::kVector], c[rope::kUnroll], c[rope::kOffsets]});
  }
}

// From one token to more than 2 GiB, known and open.
std::set<Image> images_of(Rope p, const Target& target) {
  struct Heads {
    std::int64_t of_q, of_k;
  };
  const bool needs_keys = rope::has_cache(p);
  std::set<Image> images;
  for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{2}, std::int64_t{64}, kOpen}) {
    for (const std::int64_t seq :
         {std::int64_t{1}, std::int64_t{64}, std::int64_t{4096}, std::int64_t{1} << 24, kOpen}) {
      for (const Heads& heads : {Heads{1, 0}, {3, 1}, {7, 1}, {32, 8}, {64, 0}}) {
        p.batch = batch;
        p.seq = seq;
        p.heads = heads.of_q;
        p.kv_heads = needs_keys && heads.of_k == 0 ? 1 : heads.of_k;
        add_images(p, target, images);
      }
    }
  }
  return images;
}

std::string names(const std::set<Image>& images) {
  std::string text;
  for (const Image& image : images) {
    text += "form=" + std::to_string(image[0]) + ",vector=" + std::to_string(image[1]) +
            ",unroll=" + std::to_string(image[2]) + ",offsets=" + std::to_string(image[3]) + "; ";
  }
  return text;
}

// Every head_dim to 256 that has pairs.
void expect_few_images(const std::string& fields, const Target& target) {
  Rope p = *static_cast<const Rope*>(test::problem("rope " + fields).data());
  for (p.head_dim = 2; p.head_dim <= 256; p.head_dim += 2) {
    for (const RopeStyle style : {RopeStyle::half, RopeStyle::interleaved}) {
      for (const RopePass pass : {RopePass::forward, RopePass::backward}) {
        for (const DType dtype : {DType::bf16, DType::f32}) {  // f16 has the size of bf16
          p.style = style;
          p.pass = pass;
          p.dtype = dtype;
          const std::set<Image> images = images_of(p, target);
          ASSERT_LE(images.size(), 4U) << fields << " head_dim=" << p.head_dim << " style=" << static_cast<int>(style)
                                       << " of " << bytes(dtype) << " bytes: " << names(images);
        }
      }
    }
  }
}

// Regression: head_dim=92 of any batch, seq and heads had six.
TEST(RopeImages, AreAtMostFourForAllExtentsAndHeads) {
  for (const Target& target : {Target{90, "a"}, Target{100, "a"}}) {
    for (const char* table : {"", "table=angles", "table=computed"}) {
      for (const char* rest : {"", "layout=bhsd", "layout=thd", "place=in_place", "values=copied kv_heads=1"})
        expect_few_images(cat(rest, " ", table), target);
    }
  }
}

TEST(RopeImages, AreAtMostFourOfPartsOfAHead) {
  for (const char* fields : {"rotary_dim=2", "rotary_dim=2 layout=bhsd table=computed"})
    expect_few_images(fields, {90, "a"});
  Rope p = *static_cast<const Rope*>(test::problem("rope rotary_dim=30 rotary_offset=1").data());
  for (p.head_dim = 31; p.head_dim <= 256; ++p.head_dim)
    ASSERT_LE(images_of(p, {90, "a"}).size(), 4U) << p.head_dim << ": " << names(images_of(p, {90, "a"}));
}

TEST(RopeImages, AreAtMostFourOfQuantizedOutputsAndCaches) {
  for (const char* fields :
       {"element=e4m3 quantized=all", "element=e4m3 quantized=all scaling=mx",
        "element=e4m3 quantized=all scaling=row layout=bhsd", "element=e4m3 quantized=all scaling=row table=computed",
        "kv_heads=1 cache=slots cache_pages=9 page_size=16",
        "kv_heads=1 cache=slots cache_pages=99999999 page_size=16 table=computed",
        "kv_heads=1 cache=slots cache_pages=65536 page_size=16 element=e4m3 scaling=mx"})
    for (const Target& target : {Target{90, "a"}, Target{100, "a"}}) expect_few_images(fields, target);
}

// Strides that reach 2 GiB with some batches only.
TEST(RopeImages, AreAtMostFourOfStrides) {
  for (const char* fields : {"", " table=computed", " element=e4m3 quantized=all scaling=mx"}) {
    for (const char* dims : {"head_dim=92", "head_dim=128", "head_dim=82", "head_dim=96 layout=bhsd"}) {
      const std::string text = cat(dims, fields, " q_strides=1073737728,8832,", dims[9] == '1' ? "128" : "96");
      const Rope p = *static_cast<const Rope*>(test::problem("rope " + text).data());
      EXPECT_LE(images_of(p, {90, "a"}).size(), 4U) << text << ": " << names(images_of(p, {90, "a"}));
    }
  }
}

}  // namespace
}  // namespace quern
