// Rotary embeddings: the shapes that TransformerEngine, flash-attention, Liger, FlashInfer and vLLM test, and every
// form.
#include <bit>

#include "base/text.h"
#include "support/cases.h"
#include "support/rope_peer_cases.h"

namespace quern::test {
namespace {

// Batch, seq, heads, kv_heads, head_dim.
std::string shape(int batch, int seq, int heads, int kv_heads, int dim) {
  return cat("rope batch=", batch, " seq=", seq, " heads=", heads, " kv_heads=", kv_heads, " head_dim=", dim);
}

const std::vector<std::string> kStyles = {"half", "interleaved"};
const std::vector<std::string> kRopePasses = {"forward", "backward", "inverse"};
const std::vector<std::string> kLayouts = {"bshd", "sbhd", "bhsd"};
const std::vector<std::string> kRopeTypes = {"bf16", "f16", "f32"};

// Takes one of `choices`, another one at each call.
const std::string& next(const std::vector<std::string>& choices, std::size_t i) { return choices[i % choices.size()]; }

// The peers' shapes, which differ in what a head has and in how many there are; sequences are shortened, as each token
// is computed alike.
void peers_shapes(std::vector<Case>& cases) {
  const std::string shapes[] = {
      shape(2, 96, 64, 0, 128),                                         // TransformerEngine
      cat(shape(2, 96, 64, 0, 256), " rotary_dim=128 table_rows=106"),  // half of a head, a longer table
      shape(32, 7, 4, 0, 128),                                          // flash-attention
      cat(shape(3, 217, 4, 0, 128), " rotary_dim=64"),
      shape(1, 128, 32, 32, 64),  // Liger
      shape(2, 128, 32, 8, 64),
      shape(1, 23, 73, 213, 92),
      shape(2, 23, 73, 155, 92),
      shape(9, 7, 41, 41, 82),  // 41 of Liger, whose pairs are even
      shape(1, 2, 2, 1, 8),
      cat(shape(19, 4, 8, 8, 128), " rotary_dim=32"),  // FlashInfer
      cat(shape(5, 19, 16, 8, 256), " rotary_dim=192"),
      cat(shape(5, 11, 17, 17, 80), " rotary_dim=32"),  // vLLM
      cat(shape(5, 11, 17, 0, 120), " rotary_dim=32 rotary_offset=64"),
      shape(3, 29, 2, 1, 100),  // xformers
      shape(1, 3, 1, 0, 4098),
      shape(64, 1, 32, 8, 128),  // decode
  };
  std::size_t i = 0;
  for (const std::string& each : shapes) {
    for (const std::string& style : kStyles) {
      cases.push_back({cat(each, " style=", style, " pass=", next(kRopePasses, i), " layout=", next(kLayouts, i / 2),
                           " dtype=", next(kRopeTypes, i / 3))});
      ++i;
    }
  }
}

// Every way to give a table and positions, in every layout, with addresses that no wide access takes.
void tables_and_positions(std::vector<Case>& cases) {
  std::size_t i = 0;
  for (const char* table : {"separate", "doubled", "joined"}) {
    for (const char* table_dtype : {"f32", "bf16"}) {
      for (const char* position : {"sequence", "starts", "ids index=i32"}) {
        for (const char* beyond : {"assume_valid", "identity", "report"}) {
          cases.push_back(
              {cat(shape(3, 13, 3, 2, 48), " rotary_dim=32 table_rows=", cat(beyond) == "assume_valid" ? 40 : 9,
                   " table=", table, " table_dtype=", table_dtype, " position=", position, " beyond=", beyond,
                   " style=", next(kStyles, i), " dtype=", next(kRopeTypes, i / 2),
                   " place=", i % 3 == 0 ? "in_place" : "separate", " layout=", next(kLayouts, i)),
               static_cast<int>(i % 2)});
          ++i;
        }
      }
    }
  }
}

// Angles without a table, at positions up to 2^24.
void computed(std::vector<Case>& cases) {
  std::size_t i = 0;
  for (const char* frequencies :
       {"theta=10000", "theta=500000 rope_scaling=llama3", "theta=1000000 rope_scaling=linear factor=4"}) {
    for (const char* parts :
         {"head_dim=64", "head_dim=44 rotary_dim=34", "head_dim=128 rotary_dim=64 rotary_offset=64"}) {
      cases.push_back({cat("rope batch=2 seq=9 heads=3 kv_heads=2 ", parts, " table=computed ", frequencies,
                           " style=", next(kStyles, i), " pass=", next(kRopePasses, i),
                           " dtype=", next(kRopeTypes, i / 2), " position=",
                           i % 3 == 0   ? "ids"
                           : i % 3 == 1 ? "starts"
                                        : "sequence"),
                       static_cast<int>(i % 2)});
      ++i;
    }
  }
}

// Numbers with decimals.
void computed_by_decimals(std::vector<Case>& cases) {
  cases.push_back({"rope batch=2 seq=9 heads=3 kv_heads=2 head_dim=64 table=computed rope_scaling=linear factor=2.5"});
  cases.push_back(
      {"rope batch=2 seq=9 heads=3 kv_heads=2 head_dim=64 table=computed rope_scaling=llama3 theta=10000.5 factor=2.5 "
       "low_factor=1.5 high_factor=3.25 position=ids style=interleaved"});
}

// Angles in radians, one for each element of a pair; TransformerEngine's margin is a table that is longer.
void angles(std::vector<Case>& cases) {
  std::size_t i = 0;
  for (const std::string& style : kStyles) {
    for (const char* pass : {"forward", "backward"}) {
      for (const char* parts : {"head_dim=128 table_rows=23", "head_dim=44 rotary_dim=34",
                                "head_dim=128 rotary_dim=64 rotary_offset=64 beyond=identity position=ids table_rows=9",
                                "head_dim=6 place=in_place", "head_dim=24 layout=thd cp_size=2"}) {
        cases.push_back({cat("rope batch=2 seq=14 heads=3 kv_heads=2 table=angles ", parts, " style=", style,
                             " pass=", pass, " dtype=", next(kRopeTypes, i)),
                         static_cast<int>(i % 2)});
        ++i;
      }
    }
  }
}

// Sequences of different lengths: TransformerEngine's 11, none, and more than there are tokens.
void packed(std::vector<Case>& cases) {
  std::size_t i = 0;
  for (const char* extents :
       {"batch=11 seq=2048 heads=2", "batch=5 seq=77 heads=3 kv_heads=2", "batch=40 seq=9 heads=2",
        "batch=1 seq=1 heads=1", "batch=0 seq=7 heads=2", "batch=3 seq=0 heads=2"}) {
    for (const char* rest :
         {"", "position=starts index=i32", "table=joined beyond=report table_rows=5", "table=computed"}) {
      cases.push_back(
          {cat("rope ", extents, " head_dim=32 layout=thd place=", i % 2 == 0 ? "separate " : "in_place ", rest,
               rest[0] == 0 ? "" : " ", "style=", next(kStyles, i / 2), " dtype=", next(kRopeTypes, i)),
           static_cast<int>(i % 2)});
      ++i;
    }
  }
}

// Liger's sections of Qwen2-VL, which straddle accesses, those of Qwen3-VL and of images, and a table with an entry for
// each token.
void sections(std::vector<Case>& cases) {
  std::size_t i = 0;
  for (const char* parts :
       {"head_dim=128 sections=16,24,24", "head_dim=96 sections=16,16,16", "head_dim=64 sections=8,12,12",
        "head_dim=128 sections=24,20,20 section_style=interleaved",
        "head_dim=48 rotary_dim=24 rotary_offset=8 sections=5,7", "head_dim=80 sections=20,20 section_style=restarted",
        "head_dim=64 sections=16,16 section_style=apart",
        "head_dim=44 rotary_dim=40 rotary_offset=2 sections=7,13 section_style=apart",
        "head_dim=32 sections=0,3,0,13"}) {
    for (const char* rest : {"position=ids table_rows=50", "position=tokens table=doubled table_dtype=bf16",
                             "position=ids table=computed", "position=ids beyond=report table=joined table_rows=9"}) {
      cases.push_back(
          {cat("rope batch=2 seq=13 heads=3 kv_heads=1 ", parts, " ", rest, " style=", next(kStyles, i / 2),
               " dtype=", next(kRopeTypes, i), " pass=", next(kRopePasses, i), " layout=", next(kLayouts, i)),
           static_cast<int>(i % 2)});
      ++i;
    }
  }
  for (const char* table : {"separate", "joined table_dtype=f16", "angles"})
    cases.push_back({cat(shape(3, 5, 2, 1, 32), " position=tokens table=", table)});
}

// Values beside keys, and both placed into caches: xformers' by position, vLLM's by slots, FlashInfer's by pages.
void caches(std::vector<Case>& cases) {
  const std::string places[] = {"",
                                "cache=positions page_size=9",  // too few for the last tokens
                                "cache=positions page_size=30 position=starts table_rows=29",
                                "cache=slots cache_pages=5 page_size=16",
                                "cache=slots cache_pages=1 page_size=19 index=i32 position=ids table_rows=40",
                                "cache=pages cache_pages=9 page_size=5 max_pages=4",
                                "cache=pages cache_pages=12 page_size=8 max_pages=3 position=ids table_rows=20"};
  std::size_t i = 0;
  for (const std::string& place : places) {
    const bool has_ids = place.find("ids") != std::string::npos;
    for (const char* rest : {"head_dim=64", "head_dim=48 rotary_dim=24 rotary_offset=4 place=in_place",
                             has_ids ? "head_dim=2" : "head_dim=32 layout=thd", "head_dim=16 beyond=identity",
                             "head_dim=34 layout=bhsd place=in_place"}) {
      cases.push_back({cat("rope batch=3 seq=13 heads=3 kv_heads=2 ", place, " ", rest, " style=", next(kStyles, i),
                           " dtype=", next(kRopeTypes, i / 2), place.empty() || i % 3 == 0 ? " values=copied" : ""),
                       static_cast<int>(i % 2)});
      ++i;
    }
  }
  for (const char* fields : {"values=copied v_strides=900,60,30 v_out_strides=2000,150,50",
                             "cache=pages cache_pages=7 page_size=4 max_pages=3 k_out_strides=300,64,32 values=copied",
                             "heads=0 cache=slots cache_pages=3 page_size=8 values=copied",
                             "cache=slots cache_pages=3 page_size=8 sections=7,8 position=ids table=computed"})
    cases.push_back({cat("rope batch=2 seq=9 kv_heads=2 head_dim=30 ", fields)});
}

// Outputs in fp8, all of them or only keys and values.
void quantized(std::vector<Case>& cases) {
  std::size_t i = 0;
  for (const char* outputs : {"quantized=all element=e4m3", "values=copied element=e5m2",
                              "cache=slots cache_pages=5 page_size=9 element=e4m3 values=copied place=in_place",
                              "cache=positions page_size=13 element=e4m3 quantized=all values=copied"}) {
    for (const char* parts : {"head_dim=128", "head_dim=48 rotary_dim=24 rotary_offset=8", "head_dim=34 table=computed",
                              "head_dim=192 rotary_dim=64 rotary_offset=128 beyond=identity table_rows=9 layout=sbhd",
                              "head_dim=64 k_strides=700,64,64 table=angles layout=bhsd"}) {
      cases.push_back({cat("rope batch=3 seq=11 heads=3 kv_heads=1 ", outputs, " ", parts, " style=", next(kStyles, i),
                           " dtype=", next(kRopeTypes, i / 2)),
                       static_cast<int>(i % 2)});
      ++i;
    }
  }
}

// Outputs in fp8 with scales that are made: whole blocks of a head and shorter ones, heads of a power of two of threads
// and of other numbers, in caches too.
void scaled(std::vector<Case>& cases) {
  const std::vector<std::string> outputs = {
      "quantized=all", "values=copied", "cache=slots cache_pages=5 page_size=9 values=copied place=in_place",
      "cache=pages cache_pages=9 page_size=4 max_pages=3 quantized=all values=copied"};
  std::size_t i = 0;
  for (const char* scaling : {"scaling=mx", "scaling=mx policy=te", "scaling=mx mode=floor", "scaling=row mode=exact",
                              "scaling=row", "scaling=block128"}) {
    for (const char* parts : {"head_dim=128", "head_dim=256 rotary_dim=64 layout=sbhd", "head_dim=80 layout=bhsd",
                              "head_dim=48 rotary_dim=24 rotary_offset=8", "head_dim=34 table=computed",
                              "head_dim=192 rotary_dim=64 rotary_offset=128 beyond=report table_rows=9",
                              "head_dim=64 k_strides=700,64,64 table=angles"}) {
      cases.push_back(
          {cat("rope batch=3 seq=11 heads=3 kv_heads=1 element=", i % 2 == 0 ? "e4m3" : "e5m2", " ", scaling, " ",
               next(outputs, i / 2), " ", parts, " style=", next(kStyles, i / 3), " dtype=", next(kRopeTypes, i / 2)),
           static_cast<int>(i % 2)});
      ++i;
    }
  }
  for (const char* config : {"vector=16,unroll=4,offsets=64", "vector=4,unroll=2,threads=512", "offsets=64"}) {
    for (const char* fields : {"scaling=mx quantized=all", "scaling=row cache=slots cache_pages=5 page_size=9"})
      cases.push_back(
          with(config, cat("rope batch=2 seq=9 heads=4 kv_heads=2 element=e4m3 values=copied head_dim=64 ", fields)));
  }
  // One head in all, for two of a thread.
  for (const char* scaling : {"mx", "row"})
    cases.push_back({cat("rope batch=3 seq=11 heads=1 head_dim=80 element=e4m3 quantized=all scaling=", scaling), 1});
  cases.push_back({"rope seq=7 heads=5 kv_heads=2 head_dim=1024 element=e4m3 quantized=all scaling=row", 1});
  cases.push_back(
      {"rope batch=3 seq=29 heads=4 kv_heads=2 head_dim=64 layout=thd element=e4m3 quantized=all scaling=mx"});
  cases.push_back(
      {"rope batch=2 seq=9 heads=4 kv_heads=2 head_dim=64 element=e4m3 quantized=all scaling=mx "
       "q_strides=3000,320,64,160 q_out_strides=2600,280,70,140"});
}

// The first rank of some that share sequences; tests/device/rope_test.cpp has the others.
void context_parallel(std::vector<Case>& cases) {
  for (const std::string& style : kStyles) {
    cases.push_back({cat(shape(2, 8, 3, 2, 32), " cp_size=2 style=", style)});
    cases.push_back({cat(shape(2, 6, 3, 0, 32), " cp_size=3 position=starts layout=sbhd table_rows=40 style=", style)});
    cases.push_back({cat(shape(11, 512, 2, 1, 32), " cp_size=4 layout=thd style=", style)});
    cases.push_back(
        {cat(shape(5, 24, 2, 0, 32), " cp_size=2 layout=thd table=computed position=starts style=", style)});
  }
}

// A table as long as the longest sequence should be, of sequences of which some are longer.
void short_tables(std::vector<Case>& cases) {
  for (const std::string& style : kStyles) {
    cases.push_back({cat(shape(5, 40, 2, 1, 32), " layout=thd table_rows=9 style=", style)});
    cases.push_back(
        {cat(shape(5, 40, 2, 0, 32), " layout=thd table=angles position=starts table_rows=9 style=", style)});
  }
}

// Parts of a head of every size around an access.
void odd_heads(std::vector<Case>& cases) {
  std::size_t i = 0;
  for (const std::string& style : kStyles) {
    for (const char* place : {"separate", "in_place"}) {
      for (const char* parts :
           {"head_dim=1 rotary_offset=1", "head_dim=2", "head_dim=6", "head_dim=17 rotary_dim=2",
            "head_dim=24 rotary_dim=8 rotary_offset=8", "head_dim=34", "head_dim=40 rotary_dim=16 rotary_offset=24",
            "head_dim=72 rotary_dim=64 rotary_offset=7", "head_dim=33 rotary_dim=30 rotary_offset=2", "head_dim=512"}) {
        cases.push_back(
            {cat("rope ", i % 3 == 0 ? "batch=1 seq=1 heads=1 kv_heads=7 " : "batch=2 seq=5 heads=3 ", parts,
                 " style=", style, " place=", place, " dtype=", next(kRopeTypes, i), " layout=", next(kLayouts, i / 2)),
             static_cast<int>(i % 2)});
        ++i;
      }
    }
  }
}

// q and k inside of a packed tensor, heads with gaps, and transposed views.
void strided(std::vector<Case>& cases) {
  for (const std::string& style : kStyles) {
    const std::string base = cat(shape(2, 9, 4, 2, 32), " style=", style);
    cases.push_back({cat(base, " q_strides=2304,256,32 k_strides=2304,256,32")});  // [b, s, 4 q + 2 k + 2 v heads]
    cases.push_back({cat(base, " place=in_place q_out_strides=2304,256,32 k_out_strides=2304,256,32")});
    cases.push_back({cat(base, " q_strides=32,64,1152 q_out_strides=1179,131,33")});
    cases.push_back({cat(base, " k_strides=0,0,0 k_out_strides=2000,200,100 layout=sbhd"), 1});
    cases.push_back({cat(base, " q_out_strides=5000,40,1000 layout=bhsd dtype=f32")});
    // TransformerEngine's form for grouped queries, [s, b, 2 keys x (2 q + k + v)], forward and back.
    cases.push_back({cat(base,
                         " layout=sbhd values=copied q_strides=256,512,32,128 k_strides=256,512,128 v_strides=256,"
                         "512,128")});
    cases.push_back({cat(base,
                         " layout=sbhd values=copied pass=backward q_out_strides=256,512,32,128 k_out_strides=256,"
                         "512,128 v_out_strides=256,512,128"),
                     1});
    // A batch and a head whose strides are no multiples of an access.
    cases.push_back({cat(shape(1, 9, 4, 1, 32), " k_strides=77,32,55 q_strides=33,128,32 style=", style)});
    cases.push_back({cat(base, " layout=thd q_strides=33,128,32 k_out_strides=1,64,32")});
    cases.push_back({cat(base, " place=in_place q_out_strides=1160,128,32,64 k_out_strides=3000,300,100")});
  }
}

void empty(std::vector<Case>& cases) {
  for (const char* extents :
       {"batch=0 seq=3 heads=2", "batch=2 seq=0 heads=2", "batch=2 seq=3 heads=0", "batch=2 seq=3 heads=0 kv_heads=2"})
    cases.push_back({cat("rope ", extents, " head_dim=16")});
  cases.push_back({"rope batch=2 seq=3 heads=2 head_dim=4 rotary_offset=4 place=in_place"});
  cases.push_back(
      {"rope batch=2 seq=3 heads=2 head_dim=4 rotary_offset=4 place=in_place beyond=report position=ids table_rows=2"});
  // Tokens of no sequence, and a page table without rows.
  cases.push_back(
      {"rope batch=0 seq=7 kv_heads=2 head_dim=16 layout=thd cache=pages cache_pages=3 page_size=4 "
       "max_pages=2"});
}

void configs(std::vector<Case>& cases) {
  for (const char* config : {"unroll=1", "unroll=2,threads=64", "unroll=4,threads=256", "vector=8,unroll=8", "vector=4",
                             "vector=2,unroll=8,threads=512", "rounds=2", "unroll=2,rounds=4", "offsets=64",
                             "vector=16,unroll=4,offsets=64"}) {
    for (const std::string& style : kStyles)
      cases.push_back(with(config, cat(shape(2, 11, 7, 3, 64), " rotary_dim=48 style=", style)));
  }
  // What large problems have by default: wide offsets.
  for (const char* fields :
       {"q_strides=3000,320,64,160 q_out_strides=2600,280,70,140", "layout=bhsd place=in_place pass=backward",
        "cache=slots cache_pages=5 page_size=9 values=copied layout=sbhd", "table=computed k_strides=700,64,32"}) {
    for (const char* config : {"offsets=64", "unroll=2,offsets=64"})
      cases.push_back(with(config, cat("rope batch=2 seq=9 heads=4 kv_heads=2 head_dim=32 ", fields)));
  }
}

// Heads whose parts no wide access divides, in runs of several sizes: of part of a token, of several tokens and
// batches, and with an end within an access.
void staged(std::vector<Case>& cases) {
  const std::vector<std::string> configs = {"vector=16,run=8,unroll=2,threads=64", "vector=8,run=16,unroll=4,rounds=2",
                                            "vector=4,run=32,unroll=1,rounds=8",
                                            "vector=16,run=64,unroll=8,threads=256"};
  const std::vector<std::string> shapes = {"batch=2 seq=9 heads=5 kv_heads=3", "batch=3 seq=1 heads=32",
                                           "batch=1 seq=13 heads=3 kv_heads=8", "batch=5 seq=4 heads=1 kv_heads=2"};
  std::size_t i = 0;
  for (const char* fields :
       {"head_dim=82", "head_dim=82 place=in_place pass=backward", "head_dim=92 table=doubled table_dtype=bf16",
        "head_dim=34 layout=bhsd place=in_place", "head_dim=34 layout=sbhd table=joined position=starts table_rows=50",
        "head_dim=6 position=tokens", "head_dim=33 rotary_dim=30 rotary_offset=1 pass=inverse",
        "head_dim=130 rotary_dim=50 beyond=identity table_rows=7", "head_dim=2 place=in_place table=computed",
        "head_dim=50 table=angles pass=backward", "head_dim=42 table=computed position=ids sections=10,11",
        "head_dim=42 position=ids sections=5,16 section_style=apart table_rows=20",
        "head_dim=106 position=ids index=i32 beyond=report table_rows=9", "head_dim=34 cp_size=2 layout=thd"}) {
    for (const std::string& style : kStyles) {
      if (cat(fields) == "head_dim=92 table=doubled table_dtype=bf16" && style == "interleaved") continue;
      cases.push_back(
          with(cat("form=1,", next(configs, i)),
               cat("rope ", next(shapes, i + i / 4), " ", fields, " style=", style, " dtype=", next(kRopeTypes, i / 2)),
               i % 5 == 4 ? 8 : 0));  // aligned: there may be no other image
      ++i;
    }
  }
  const std::string config = "form=1,vector=16,run=16";
  for (const char* extents : {"batch=11 seq=200 heads=2", "batch=5 seq=77 heads=3 kv_heads=2", "batch=40 seq=9 heads=2",
                              "batch=0 seq=7 heads=9", "batch=3 seq=0 heads=2"}) {
    cases.push_back(with(config, cat("rope ", extents, " head_dim=22 layout=thd place=in_place")));
    cases.push_back(with(config, cat("rope ", extents, " head_dim=22 layout=thd position=starts")));
  }
  for (const char* extents : {"batch=0 seq=3 heads=2", "batch=2 seq=0 heads=2", "batch=2 seq=3 heads=0",
                              "batch=2 seq=3 heads=0 kv_heads=2", "batch=1 seq=1 heads=1"})
    cases.push_back(with(config, cat("rope ", extents, " head_dim=22")));
  for (const char* strides :
       {"place=in_place q_out_strides=6144,768,82 k_out_strides=6144,768,82", "q_strides=6144,768,82",
        "k_out_strides=4096,512,82", "q_strides=656,5904,82 q_out_strides=6144,768,82 layout=sbhd"})
    cases.push_back(with("form=1,vector=16,run=8", cat(shape(2, 8, 8, 4, 82), " ", strides)));
  cases.push_back(with("form=1,vector=4", cat(shape(2, 8, 3, 0, 82), " q_out_strides=2048,256,82 layout=bshd")));
  cases.push_back(with("form=1,vector=8,run=8",
                       cat(shape(2, 8, 3, 2, 34), " layout=bhsd q_strides=0,34,384 q_out_strides=2048,34,384")));
  cases.push_back(with("form=1,vector=2,run=8", cat(shape(2, 8, 3, 2, 82), " place=in_place"), 1));
}

// Marks half of the cases as `full`, by the parity of the bits of their numbers, so that none of the choices that take
// turns is left out.
void halve(std::vector<Case>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].full = std::popcount(i) % 2 == 1;
}

}  // namespace

std::vector<Case> rope_cases() {
  std::vector<Case> cases;
  tables_and_positions(cases);
  angles(cases);
  packed(cases);
  sections(cases);
  caches(cases);
  quantized(cases);
  scaled(cases);
  odd_heads(cases);
  halve(cases);
  peers_shapes(cases);
  const std::vector<Case> grids = peer_grids();
  cases.insert(cases.end(), grids.begin(), grids.end());
  computed(cases);
  computed_by_decimals(cases);
  context_parallel(cases);
  short_tables(cases);
  strided(cases);
  empty(cases);
  configs(cases);
  staged(cases);
  return cases;
}

}  // namespace quern::test
