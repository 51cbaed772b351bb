// rope's refusals, operands and variants.
#include "rope/rope.h"

#include <gtest/gtest.h>

#include <string>

#include "rope/problem.h"
#include "rope/step.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::span;
using test::variant_summary;

std::string rope_refusal(const std::string& fields) { return test::refusal("rope " + fields); }

TEST(RopeProblem, TakesAnyPartOfAHead) {
  EXPECT_EQ(rope_refusal("head_dim=80 rotary_dim=32"), "");
  EXPECT_EQ(rope_refusal("head_dim=80 rotary_dim=32 rotary_offset=48"), "");
  EXPECT_EQ(rope_refusal("head_dim=79 rotary_offset=1"), "");
  EXPECT_EQ(rope_refusal("head_dim=7 rotary_offset=7"), "") << "nothing is rotated";
  EXPECT_EQ(rope_refusal("heads=0 kv_heads=2"), "");
}

TEST(RopeProblem, RefusesPartsThatAHeadHasNot) {
  EXPECT_TRUE(has(rope_refusal("head_dim=80 rotary_dim=33"),
                  "rotary_dim=33 is odd, and rotated elements are pairs: give rotary_dim=32"));
  EXPECT_TRUE(has(rope_refusal("head_dim=79"), "rotary_dim=79 (all of the head) is odd"));
  EXPECT_TRUE(has(rope_refusal("head_dim=79 rotary_offset=2"), "rotary_dim=77 (all from rotary_offset=2 on) is odd"));
  EXPECT_TRUE(has(rope_refusal("head_dim=1"), "give an even number"));
  EXPECT_TRUE(has(rope_refusal("head_dim=80 rotary_dim=64 rotary_offset=17"),
                  "head_dim=80 has no room for rotary_dim=64 elements from rotary_offset=17 on: it has 63"));
  EXPECT_TRUE(has(rope_refusal("head_dim=80 rotary_offset=81"), "rotary_offset=81 is above head_dim=80"));
  EXPECT_TRUE(has(rope_refusal("head_dim=0"), "head_dim must be"));
  EXPECT_TRUE(has(rope_refusal("batch=1048576 seq=1048576 heads=64"), "q, k and v together are too large"));
  EXPECT_TRUE(has(rope_refusal("table_rows=70368744177664"), "the table is too large"));
}

TEST(RopeProblem, RefusesTablesThatAreTooShort) {
  EXPECT_TRUE(has(rope_refusal("seq=9 table_rows=8"), "table_rows=8 is below seq=9"));
  EXPECT_TRUE(has(rope_refusal("seq=9 table_rows=8 position=starts"), "beyond=identity"));
  EXPECT_EQ(rope_refusal("seq=9 table_rows=8 position=ids"), "") << "ids may repeat";
  EXPECT_EQ(rope_refusal("seq=9 table_rows=8 beyond=identity"), "");
  EXPECT_EQ(rope_refusal("seq=9 table_rows=9"), "");
}

// A table of seq positions leaves the tokens of a decoding without a rotation.
TEST(RopeProblem, RefusesATableOfUnknownLengthForPositionsThatAreGiven) {
  for (const char* position : {"starts", "ids"}) {
    for (const char* beyond : {"identity", "report"}) {
      const std::string fields = std::string("position=") + position + " beyond=" + beyond;
      EXPECT_TRUE(has(rope_refusal(fields), "give table_rows, the positions that the table has")) << fields;
      EXPECT_EQ(rope_refusal(fields + " table_rows=4096"), "");
    }
  }
  EXPECT_EQ(rope_refusal("beyond=identity"), "") << "a sequence has seq positions";
}

TEST(RopeProblem, SharesSequencesAmongRanks) {
  EXPECT_EQ(rope_refusal("seq=8 cp_size=4 table_rows=32"), "");
  EXPECT_TRUE(has(rope_refusal("seq=8 cp_size=4 table_rows=31"), "table_rows=31 is below seq=8 times cp_size=4"));
  EXPECT_TRUE(has(rope_refusal("seq=7 cp_size=2"), "seq=7 is odd"));
  EXPECT_EQ(rope_refusal("seq=7 cp_size=2 layout=thd"), "") << "lengths are in cu_seqlens";
  EXPECT_TRUE(has(rope_refusal("seq=8 cp_size=2 position=ids"), "every token has its own"));
  EXPECT_TRUE(has(rope_refusal("seq=1073741824 cp_size=2 layout=thd heads=1 head_dim=2"), "2^31"));
  EXPECT_EQ(span("rope seq=8 cp_size=4", "cos"), 8 * 4 * 64 * 4);
  EXPECT_EQ(span("rope seq=8 cp_size=4", "q"), 8 * 32 * 128 * 2);
}

TEST(RopeProblem, TakesSeveralPositionsOfAToken) {
  EXPECT_EQ(rope_refusal("position=ids sections=16,24,24"), "");
  EXPECT_EQ(rope_refusal("position=tokens sections=24,20,20 section_style=interleaved"), "");
  EXPECT_EQ(rope_refusal("position=ids table=computed sections=64"), "");
  EXPECT_TRUE(has(rope_refusal("position=ids sections=16,24,23"), "63 pairs together, and a head has 64"));
  EXPECT_TRUE(has(rope_refusal("position=ids sections=16,1000"), "a section has 1000 pairs, and a head has 64"));
  EXPECT_TRUE(has(rope_refusal("sections=16,24,24"), "need position=ids or tokens"));
  EXPECT_TRUE(has(rope_refusal("position=ids table=angles sections=16,24,24"), "not for table=angles"));
  EXPECT_TRUE(has(rope_refusal("section_style=interleaved"), "give sections"));
  EXPECT_TRUE(has(rope_refusal("position=ids sections=20,22,22 section_style=interleaved"), "only the first section"));
  EXPECT_EQ(rope_refusal("position=ids sections=22,21,21 section_style=interleaved"), "");
  EXPECT_EQ(span("rope batch=2 seq=5 position=ids sections=16,24,24", "positions"), 3 * 2 * 5 * 8);
}

TEST(RopeOperands, PositionsOfSectionsHaveAnAxisOfTheirOwn) {
  for (const std::string& sections : {std::string("64"), std::string("16,24,24")}) {
    const AnyProblem p = test::problem("rope batch=2 seq=5 position=ids sections=" + sections);
    const Layout layout = p.family().operands[rope::kPositions].layout(p.data());
    ASSERT_EQ(layout.rank, 3);
    EXPECT_EQ(layout.extents[0], sections == "64" ? 1 : 3);
    EXPECT_EQ(layout.extents[1], 2);
    EXPECT_EQ(layout.extents[2], 5);
    EXPECT_EQ(layout.strides[0], 10);
    EXPECT_EQ(layout.strides[1], 5);
  }
  EXPECT_EQ(span("rope batch=open seq=5 position=ids sections=16,24,24", "positions"), 0);
}

TEST(RopeProblem, TakesATableWithAnEntryForEachToken) {
  EXPECT_EQ(span("rope batch=2 seq=5 position=tokens", "cos"), 2 * 5 * 64 * 4);
  EXPECT_EQ(span("rope batch=2 seq=5 position=tokens sections=16,24,24", "cos"), 3 * 2 * 5 * 64 * 4);
  EXPECT_EQ(span("rope batch=2 seq=5 position=tokens", "positions"), 0);
  EXPECT_TRUE(has(rope_refusal("position=tokens table=computed"), "give position=ids"));
  EXPECT_TRUE(has(rope_refusal("position=tokens table_rows=9"), "leave out table_rows and beyond"));
  EXPECT_TRUE(has(rope_refusal("position=tokens beyond=identity"), "leave out table_rows and beyond"));
  EXPECT_TRUE(has(rope_refusal("position=tokens layout=thd batch=3 seq=100"), "every token has its own"));
  EXPECT_TRUE(has(rope_refusal("position=tokens cp_size=2"), "every token has its own"));
}

Rope with_sections(List<4> sections, RopeSectionStyle section_style, RopeStyle style = RopeStyle::half) {
  Rope p;
  p.sections = sections;
  p.section_style = section_style;
  p.style = style;
  for (const std::int64_t pairs : sections.values) p.rotary_dim += 2 * pairs;
  p.head_dim = p.rotary_dim;
  return p;
}

// As Qwen2-VL's and Qwen3-VL's models compute it: of the second, every third pair, as long as a section has some.
TEST(RopeSections, GiveEachPairAnAxis) {
  const auto axes = [](List<4> sections, RopeSectionStyle style) {
    const Rope p = with_sections(sections, style);
    std::string text;
    for (std::int64_t j = 0; j < p.rotary_dim / 2; ++j) text += std::to_string(rope::section_of(p, j).axis);
    return text;
  };
  EXPECT_EQ(axes({2, 3, 3}, RopeSectionStyle::adjacent), "00111222");
  EXPECT_EQ(axes({0, 3, 0, 2}, RopeSectionStyle::adjacent), "11133");
  EXPECT_EQ(axes({4, 2, 2}, RopeSectionStyle::interleaved), "01201200");
  EXPECT_EQ(axes({5, 1, 2}, RopeSectionStyle::interleaved), "01200200");
  EXPECT_EQ(axes({2, 3}, RopeSectionStyle::restarted), "00111");
}

// "first element-second element:entry" of each pair.
TEST(RopeSections, GiveEachPairElementsAndAnEntry) {
  const auto pairs = [](RopeSectionStyle section_style, RopeStyle style) {
    const Rope p = with_sections({2, 3}, section_style, style);
    std::string text;
    for (std::int64_t j = 0; j < 5; ++j) {
      const auto [first, second] = rope::elements_of(p, j);
      text += std::to_string(first) + "-" + std::to_string(second) + ":" + std::to_string(rope::entry_of(p, j)) + " ";
    }
    return text;
  };
  using S = RopeSectionStyle;
  EXPECT_EQ(pairs(S::adjacent, RopeStyle::half), "0-5:0 1-6:1 2-7:2 3-8:3 4-9:4 ");
  EXPECT_EQ(pairs(S::interleaved, RopeStyle::half), "0-5:0 1-6:1 2-7:2 3-8:3 4-9:4 ");
  EXPECT_EQ(pairs(S::restarted, RopeStyle::half), "0-5:0 1-6:1 2-7:0 3-8:1 4-9:2 ");
  EXPECT_EQ(pairs(S::apart, RopeStyle::half), "0-2:0 1-3:1 4-7:0 5-8:1 6-9:2 ");
  EXPECT_EQ(pairs(S::apart, RopeStyle::interleaved), "0-1:0 2-3:1 4-5:0 6-7:1 8-9:2 ");
}

// A section that restarts has the frequencies of a head of its size.
TEST(RopeSections, ThatRestartHaveFrequenciesOfTheirOwn) {
  Rope p = with_sections({4, 8}, RopeSectionStyle::restarted), small = {}, large = {};
  p.table = small.table = large.table = RopeTable::computed;
  small.head_dim = 8;
  large.head_dim = 16;
  for (std::int64_t j = 0; j < 4; ++j) EXPECT_EQ(rope::frequency(p, j), rope::frequency(small, j));
  for (std::int64_t j = 0; j < 8; ++j) EXPECT_EQ(rope::frequency(p, 4 + j), rope::frequency(large, j));
}

TEST(RopeSections, ThatRestartShareEntries) {
  EXPECT_EQ(span("rope position=ids sections=24,40 section_style=restarted table_rows=10", "cos"), 10 * 40 * 4);
  EXPECT_EQ(span("rope position=ids sections=24,40 section_style=apart table=joined table_rows=10", "cos"),
            10 * 80 * 4);
}

// So many entries of a row are read at once.
TEST(RopeSections, LimitAccessesToTheTable) {
  const auto run = [](const std::string& fields) {
    const AnyProblem problem = test::problem("rope position=ids " + fields);
    return rope::axis_run(*static_cast<const Rope*>(problem.data()));
  };
  EXPECT_EQ(run("sections=16,24,24"), 8);
  EXPECT_EQ(run("sections=16,48"), 16);
  EXPECT_EQ(run("head_dim=64 sections=8,12,12"), 4);
  EXPECT_EQ(run("head_dim=24 sections=5,7"), 1);
  EXPECT_EQ(run("sections=24,20,20 section_style=interleaved"), 1);
  EXPECT_EQ(run(""), 64);
}

TEST(RopeProblem, CopiesValuesAndPlacesInCaches) {
  const std::string k = "batch=2 seq=5 kv_heads=2 ";
  EXPECT_EQ(rope_refusal(k + "values=copied v_strides=9999,999,128"), "");
  EXPECT_TRUE(has(rope_refusal("values=copied"), "needs kv_heads above 0"));
  EXPECT_TRUE(has(rope_refusal(k + "v_strides=9999,999,128"), "need values=copied"));
  EXPECT_TRUE(has(rope_refusal(k + "page_size=16"), "need cache=slots, pages or positions"));
  EXPECT_EQ(rope_refusal(k + "cache=positions page_size=16"), "");
  EXPECT_TRUE(has(rope_refusal("cache=positions page_size=16"), "needs kv_heads above 0"));
  EXPECT_TRUE(has(rope_refusal(k + "cache=positions page_size=16 pass=backward"), "for pass=forward"));
  EXPECT_TRUE(has(rope_refusal(k + "cache=positions"), "page_size must say"));
  EXPECT_TRUE(has(rope_refusal(k + "cache=positions page_size=16 cache_pages=2"), "leave out cache_pages"));
  EXPECT_TRUE(has(rope_refusal(k + "cache=positions page_size=16 position=tokens"), "give cache=slots"));
  EXPECT_TRUE(has(rope_refusal(k + "cache=pages page_size=16 cache_pages=9"), "needs max_pages"));
  EXPECT_TRUE(
      has(rope_refusal(k + "cache=slots page_size=16 cache_pages=9 max_pages=3"), "max_pages is for cache=pages"));
  EXPECT_TRUE(has(rope_refusal(k + "cache=pages page_size=16 cache_pages=2147483648 max_pages=3 head_dim=2"), "2^31"));
  EXPECT_TRUE(
      has(rope_refusal(k + "cache=slots page_size=1099511627776 cache_pages=1048576"), "the cache is too large"));
  EXPECT_EQ(rope_refusal(k + "cache=positions page_size=16 place=in_place k_strides=9999,999,128"), "") << "k is apart";
  EXPECT_TRUE(
      has(rope_refusal(k + "cache=slots page_size=16 cache_pages=9 k_out_strides=256,128,128"), "share memory"));
}

TEST(RopeProblem, RefusesACacheWithoutPagesInWhichAllTokensWouldBeLost) {
  const std::string k = "batch=2 seq=5 kv_heads=2 page_size=16 ";
  EXPECT_TRUE(has(rope_refusal(k + "cache=slots"), "cache_pages must say how many pages the cache has"));
  EXPECT_TRUE(has(rope_refusal(k + "cache=pages max_pages=3"), "cache_pages must say how many pages the cache has"));
}

TEST(RopeOperands, OfCachesHavePages) {
  const std::string k = "rope batch=2 seq=5 kv_heads=2 head_dim=16 dtype=f32 ";
  EXPECT_EQ(span(k + "cache=positions page_size=9", "k_out"), 2 * 9 * 2 * 16 * 4);
  EXPECT_EQ(span(k + "cache=positions page_size=9", "v_out"), 0);
  EXPECT_EQ(span(k + "cache=slots cache_pages=7 page_size=9 values=copied", "v_out"), 7 * 9 * 2 * 16 * 4);
  EXPECT_EQ(span(k + "cache=slots cache_pages=7 page_size=9 values=copied", "v"), 2 * 5 * 2 * 16 * 4);
  EXPECT_EQ(span(k + "cache=slots cache_pages=7 page_size=9 index=i32", "slots"), 2 * 5 * 4);
  EXPECT_EQ(span(k + "cache=pages cache_pages=7 page_size=9 max_pages=3", "pages"), 2 * 3 * 4);
  EXPECT_EQ(span(k + "cache=positions page_size=9 place=in_place", "k"), 2 * 5 * 2 * 16 * 4) << "only q is in place";
  EXPECT_EQ(span(k + "place=in_place values=copied", "k") + span(k + "place=in_place", "v"), 0);
  EXPECT_EQ(span(k + "place=in_place values=copied", "v"), 2 * 5 * 2 * 16 * 4);
}

TEST(RopeProblem, QuantizesOutputs) {
  const std::string k = "batch=2 seq=5 heads=4 kv_heads=2 head_dim=16 ";
  EXPECT_EQ(rope_refusal(k + "element=e4m3"), "");
  EXPECT_EQ(rope_refusal(k + "element=e5m2 quantized=all values=copied"), "");
  EXPECT_TRUE(has(rope_refusal(k + "quantized=all"), "needs element"));
  EXPECT_TRUE(has(rope_refusal(k + "element=e4m3 pass=backward"), "for pass=forward"));
  EXPECT_TRUE(has(rope_refusal("element=e4m3"), "give quantized=all"));
  EXPECT_EQ(rope_refusal("element=e4m3 quantized=all"), "");
  EXPECT_TRUE(has(rope_refusal(k + "element=e4m3 place=in_place"), "needs place=separate, or a cache"));
  EXPECT_EQ(rope_refusal(k + "element=e4m3 place=in_place cache=positions page_size=9"), "");
  EXPECT_TRUE(
      has(rope_refusal(k + "element=e4m3 quantized=all place=in_place cache=positions page_size=9"), "separate"));
  EXPECT_EQ(span("rope " + k + "element=e4m3 values=copied", "q_out"), 2 * 5 * 4 * 16 * 2);
  EXPECT_EQ(span("rope " + k + "element=e4m3 values=copied", "v_out"), 2 * 5 * 2 * 16);
  EXPECT_EQ(span("rope " + k + "element=e4m3 quantized=all", "q_out"), 2 * 5 * 4 * 16);
  EXPECT_EQ(span("rope " + k + "element=e4m3", "k_scale"), 4);
  EXPECT_EQ(span("rope " + k + "element=e4m3", "q_scale") + span("rope " + k + "element=e4m3", "v_scale"), 0);
}

TEST(RopeProblem, RefusesWhatATableOrItsAbsenceHasNot) {
  EXPECT_EQ(rope_refusal("table=computed theta=500000 rope_scaling=llama3 factor=32"), "");
  EXPECT_EQ(rope_refusal("table=computed rope_scaling=linear factor=4"), "");
  EXPECT_TRUE(has(rope_refusal("theta=500000"), "need table=computed"));
  EXPECT_TRUE(has(rope_refusal("rope_scaling=linear"), "need table=computed"));
  EXPECT_TRUE(has(rope_refusal("factor=4"), "needs table=computed and rope_scaling=linear or llama3"));
  EXPECT_TRUE(has(rope_refusal("table=computed rope_scaling=linear"), "needs factor"));
  EXPECT_TRUE(has(rope_refusal("table=computed beyond=identity"), "leave out beyond"));
  EXPECT_TRUE(has(rope_refusal("table=computed table_rows=9"), "leave out beyond"));
  // Regression: asked for a longer table.
  EXPECT_TRUE(has(rope_refusal("table=computed table_rows=4 seq=9"), "leave out beyond, table_rows"));
  EXPECT_TRUE(has(rope_refusal("table=computed table_dtype=bf16"), "leave out beyond"));
  EXPECT_TRUE(has(rope_refusal("table=computed factor=4"), "needs table=computed and rope_scaling"));
  EXPECT_TRUE(has(rope_refusal("table=computed rope_scaling=linear factor=4 low_factor=2"),
                  "need table=computed and rope_scaling=llama3"));
  EXPECT_TRUE(
      has(rope_refusal("table=computed rope_scaling=llama3 low_factor=4"), "high_factor=4 must be above low_factor=4"));
  EXPECT_EQ(rope_refusal("table=computed rope_scaling=llama3 low_factor=0.25 high_factor=0.5"), "");
  EXPECT_TRUE(has(rope_refusal("table=computed rope_scaling=llama3 low_factor=4.5"),
                  "high_factor=4 must be above low_factor=4.5"));
  EXPECT_TRUE(has(rope_refusal("table=computed rope_scaling=linear factor=0.5"), "factor=0.5 is below 1"));
  EXPECT_TRUE(has(rope_refusal("table=computed head_dim=32768"), "at most 16384"));
  EXPECT_EQ(rope_refusal("table=angles pass=backward beyond=identity"), "");
  EXPECT_TRUE(has(rope_refusal("table=angles table_dtype=bf16"), "leave out table_dtype"));
  EXPECT_TRUE(has(rope_refusal("table=angles pass=inverse"), "pass=backward is its inverse"));
}

TEST(RopeProblem, TakesWhatOtherLibrariesWrite) {
  const AnyProblem p = test::problem("rope table=computed theta=500000.0 style=neox");
  EXPECT_EQ(p.text(), "rope table=computed theta=500000");
  EXPECT_EQ(test::problem("rope table=computed theta=5e5 rope_scaling=linear factor=2.50").text(),
            "rope table=computed theta=500000 rope_scaling=linear factor=2.5");
  EXPECT_EQ(test::problem("rope style=GPTJ").text(), "rope style=interleaved");
  EXPECT_TRUE(has(test::parse_error("rope section_style=gptj"), "is not accepted"))
      << "alternating axes are another matter";
  EXPECT_TRUE(has(test::parse_error("rope old_context=500000.5"), "it takes 1 to 1099511627776, as an integer"));
  EXPECT_TRUE(has(test::parse_error("rope theta=0.5"), "it takes 1 to 1099511627776, with decimals or without"));
  for (const char* theta : {"5.", ".0", "-1.0", "1.0.0", "0.0"})
    EXPECT_TRUE(has(test::parse_error(std::string("rope theta=") + theta), "is not accepted")) << theta;
}

TEST(RopeProblem, RefusesOutputsThatShareMemory) {
  const std::string shape = "batch=2 seq=4 heads=3 head_dim=16 ";
  EXPECT_EQ(rope_refusal(shape + "q_strides=0,0,0"), "") << "of inputs they may";
  EXPECT_EQ(rope_refusal(shape + "q_out_strides=192,48,16"), "");
  EXPECT_EQ(rope_refusal(shape + "q_out_strides=16,32,128"), "") << "heads, then tokens, then batches";
  EXPECT_TRUE(has(rope_refusal(shape + "q_out_strides=192,48,15"), "q_out_strides makes elements of the output share"));
  EXPECT_TRUE(has(rope_refusal(shape + "q_out_strides=191,48,16"), "share memory"));
  EXPECT_TRUE(has(rope_refusal(shape + "q_out_strides=0,48,16"), "share memory"));
  // Products that would not fit 64 bits.
  const std::string large = "batch=1000000 seq=1000000 heads=1 head_dim=2 ", strides = "70368744177664,2,2";
  EXPECT_TRUE(has(rope_refusal(large + "q_strides=" + strides), "q_strides is too large: its tensor would span"));
  EXPECT_TRUE(has(rope_refusal(large + "q_out_strides=" + strides), "q_out_strides is too large"));
  EXPECT_EQ(rope_refusal("batch=1 seq=4 heads=3 head_dim=16 q_out_strides=0,48,16"), "") << "of one batch";
  EXPECT_TRUE(has(rope_refusal(shape + "kv_heads=1 k_out_strides=8,16,16"), "k_out_strides"));
  EXPECT_TRUE(has(rope_refusal(shape + "q_strides=1,2"), "q_strides takes three numbers"));
  EXPECT_TRUE(has(rope_refusal(shape + "q_strides=192,48,16 place=in_place"), "give q_out_strides"));
  EXPECT_TRUE(has(rope_refusal(shape + "k_strides=192,48,16"), "need kv_heads above 0"));
}

TEST(RopeProblem, HasQueriesInGroups) {
  const std::string shape = "batch=2 seq=4 heads=4 kv_heads=2 head_dim=16 ";
  EXPECT_EQ(rope_refusal(shape + "q_strides=512,128,16,64"), "");
  EXPECT_EQ(rope_refusal(shape + "q_out_strides=512,128,16,64"), "");
  EXPECT_TRUE(has(rope_refusal(shape + "q_out_strides=512,128,16,31"), "share memory"));
  EXPECT_TRUE(has(rope_refusal(shape + "k_strides=512,128,16,64"), "k_strides takes three numbers"));
  EXPECT_TRUE(
      has(rope_refusal("batch=2 seq=4 heads=4 head_dim=16 q_strides=512,128,16,64"), "kv_heads=0 does not divide"));
  EXPECT_TRUE(
      has(rope_refusal("batch=2 seq=4 heads=4 kv_heads=3 head_dim=16 q_strides=512,128,16,64"), "does not divide"));
  EXPECT_EQ(span("rope " + shape + "q_strides=512,128,16,64", "q"), (512 + 3 * 128 + 16 + 64 + 16) * 2);
  EXPECT_EQ(span("rope " + shape + "q_strides=512,128,16,64", "q_out"), 2 * 4 * 4 * 16 * 2);
}

TEST(RopeOperands, FollowLayoutAndPlace) {
  const std::string shape = "rope batch=2 seq=4 heads=3 kv_heads=1 head_dim=16 ";
  for (const char* layout : {"bshd", "sbhd", "bhsd"}) {
    EXPECT_EQ(span(shape + "layout=" + layout, "q"), 2 * 4 * 3 * 16 * 2);
    EXPECT_EQ(span(shape + "layout=" + layout, "k_out"), 2 * 4 * 16 * 2);
  }
  EXPECT_EQ(span(shape + "place=in_place", "q"), 0);
  EXPECT_EQ(span(shape + "place=in_place", "q_out"), 2 * 4 * 3 * 16 * 2);
  EXPECT_EQ(span("rope seq=4", "k_out"), 0);
  EXPECT_EQ(span(shape + "q_strides=1000,100,16", "q"), (1000 + 300 + 32 + 16) * 2);
  EXPECT_EQ(span(shape, "cos"), 4 * 8 * 4);
  EXPECT_EQ(span(shape + "table=doubled table_rows=9 table_dtype=bf16", "sin"), 9 * 16 * 2);
  EXPECT_EQ(span(shape + "table=joined", "sin"), 0);
  EXPECT_EQ(span(shape + "table=computed", "cos"), 0);
  EXPECT_EQ(span(shape + "table=angles table_rows=9", "angles"), 9 * 16 * 4);
  EXPECT_EQ(span(shape + "table=angles", "cos") + span(shape + "table=angles", "sin") + span(shape, "angles"), 0);
  EXPECT_EQ(span(shape + "position=starts index=i32", "positions"), 2 * 4);
  EXPECT_EQ(span(shape + "position=ids", "positions"), 2 * 4 * 8);
}

TEST(RopeVariants, TakeTheWidestAccessThatDividesTheParts) {
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096"), "vector:16:16 element:2:4 ");
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 head_dim=92 layout=bhsd"), "vector:4:8 element:2:4 ");
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 head_dim=92 style=interleaved"), "vector:8:8 element:2:4 ");
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 head_dim=82 layout=bhsd"), "vector:2:4 ") << "41 pairs";
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 q_strides=0,4100,128"), "vector:8:16 element:2:4 ");
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 q_strides=99,4096,128"), "vector:2:4 ");
  EXPECT_EQ(variant_summary("rope batch=4 seq=4096 rotary_dim=64 rotary_offset=2 place=in_place"),
            "vector:4:8 element:2:4 ");
  EXPECT_EQ(variant_summary("rope"), "few:8:16 vector:16:16 element:2:4 ") << "the launch chooses";
}

TEST(RopeVariants, ShareComputedCosinesAmongTwoHeads) {
  const auto heads = [](const std::string& fields) {
    const Config c = test::variants_of(test::problem("rope table=computed " + fields)).front().config;
    return std::to_string(c[rope::kUnroll]) + " x " + std::to_string(c[rope::kRounds]);
  };
  EXPECT_EQ(heads("batch=4 seq=8192"), "2 x 2");
  EXPECT_EQ(heads("batch=4 seq=1024"), "2 x 1") << "fewer than 2^26 elements";
  EXPECT_EQ(heads("batch=216 seq=1 heads=8 kv_heads=1"), "2 x 1");
  EXPECT_EQ(heads("batch=8 seq=71 heads=3"), "1 x 1") << "few";
}

TEST(RopeVariants, AreNotNarrowedByStridesThatAreNeverUsed) {
  const std::string wide = "vector:16:16 element:2:4 ";
  EXPECT_EQ(variant_summary("rope batch=1 seq=4096 q_strides=99,4096,128"), wide);
  EXPECT_EQ(variant_summary("rope batch=7 seq=4096 layout=thd q_strides=99,4096,128"), wide);
  EXPECT_EQ(variant_summary("rope batch=4096 seq=1 q_strides=4096,99,128"), wide);
  EXPECT_EQ(variant_summary("rope batch=4096 seq=4 kv_heads=1 k_strides=4096,1024,99"), wide);
  const std::string groups = "rope batch=4 seq=4096 heads=4 kv_heads=4 ";
  EXPECT_EQ(variant_summary(groups + "q_strides=4194304,1024,99,256"), wide) << "a head a group";
  EXPECT_EQ(variant_summary(groups + "q_strides=4194304,1024,132 q_out_strides=4194304,1024,99,256"),
            "vector:8:16 element:2:4 ")
      << "groups of q have the stride of heads";
  EXPECT_EQ(variant_summary("rope batch=open seq=4096 q_strides=99,4096,128"), "few:2:4 vector:2:4 ");
}

TEST(RopeProblem, PacksSequencesByCuSeqlens) {
  EXPECT_EQ(rope_refusal("layout=thd batch=3 seq=100 position=starts"), "");
  EXPECT_EQ(rope_refusal("layout=thd batch=3 seq=100 table_rows=40"), "") << "as long as the longest sequence";
  EXPECT_TRUE(has(rope_refusal("layout=thd batch=3 seq=100 position=ids"), "layout=bshd batch=1"));
  EXPECT_TRUE(
      has(rope_refusal("layout=thd batch=3 seq=100 position=ids kv_heads=2 cache=pages page_size=4 cache_pages=9 "
                       "max_pages=3"),
          "give cache=slots"));
  EXPECT_TRUE(has(rope_refusal("layout=thd seq=2147483648 heads=1 head_dim=2"), "2^31"));
  EXPECT_EQ(span("rope layout=thd batch=3 seq=10 heads=2 head_dim=4", "q"), 10 * 2 * 4 * 2);
  EXPECT_EQ(span("rope layout=thd batch=3 seq=10", "cu_seqlens"), 4 * 4);
  EXPECT_EQ(span("rope batch=3 seq=10", "cu_seqlens"), 0);
}

}  // namespace
}  // namespace quern
