// Routings of tokens to experts: the sizes of models, the suites of peers, and the edges between warps, words, thread
// blocks and iterations.
#include <algorithm>

#include "base/random.h"
#include "base/text.h"
#include "support/cases.h"
#include "support/moe_peer_cases.h"

namespace quern::test {
namespace {

std::string map(int tokens, int experts, int topk, const std::string& rest) {
  return cat("moe_map tokens=", tokens, " experts=", experts, " topk=", topk, " ", rest);
}

const std::vector<std::string> kKinds = {"map=ids",  "map=ids index=i64",        "map=mask", "map=mask index=i32",
                                         "map=bits", "map=mask row_id_map=write"};

// Sizes of models, in each form of the map.
void common_maps(std::vector<Case>& cases) {
  const int shapes[][3] = {{4096, 7, 2},   {4096, 16, 5},  {4096, 8, 2}, {4096, 64, 6},
                           {4096, 256, 6}, {4096, 512, 8}, {12, 16, 2},  {512, 8, 2}};
  for (const auto& [tokens, experts, topk] : shapes) {
    for (const std::string& kind : kKinds) cases.push_back({map(tokens, experts, topk, cat(kind, " align=16"))});
  }
}

void odd_maps(std::vector<Case>& cases) {
  for (const std::string& kind : kKinds) {
    for (const int tokens : {0, 1, 31, 32, 33, 100, 2049}) {
      cases.push_back({map(tokens, 1, 1, kind)});
      cases.push_back({map(tokens, 31, 3, cat(kind, " align=8"))});
      cases.push_back({map(tokens, 33, 2, cat(kind, " align=5 empty=fill"))});
      cases.push_back({map(tokens, 33, 2, cat(kind, " align=1 empty=fill"))});
      cases.push_back({map(tokens, 130, 9, cat(kind, " tail=list"))});
    }
    cases.push_back({map(70, 1024, 1, cat(kind, " align=2"))});
    cases.push_back({map(2049, 96, 96, kind)});
    cases.push_back({map(700, 8, 4, cat(kind, " align=1000 empty=fill tail=list"))});
    // The capacity drops almost all routes, some, padding rows alone, and nothing.
    for (const int capacity : {1, 100, 1000, 2800, 6000})
      cases.push_back({map(700, 8, 4, cat(kind, " align=16 tail=list capacity=", capacity))});
    // Routes that stay in registers, and those that are read twice, in one block and in several.
    for (const char* config :
         {"blocks=128,threads=128,routes=1", "blocks=16,threads=256,routes=2", "blocks=8,threads=1024,routes=8",
          "blocks=64,threads=512,routes=4", "blocks=32,threads=256,routes=8", "blocks=1,threads=256,routes=1",
          "blocks=1,threads=1024,routes=8"})
      cases.push_back(with(config, map(1000, 100, 7, cat(kind, " align=32"))));
    // More routes of a token than a warp has in registers.
    cases.push_back(with("blocks=64,threads=128,routes=1", map(77, 128, 100, kind)));
    cases.push_back(with("blocks=1,threads=256,routes=2", map(33, 256, 200, cat(kind, " align=4"))));
    // Rows that one block cannot have in shared memory, and arrays at any address.
    cases.push_back({map(300, 9, 3, cat(kind, " align=4 tail=list capacity=40000"))});
    for (const int offset : {1, 2, 3}) cases.push_back({map(150, 48, 5, cat(kind, " align=8")), offset});
    // A token of more pieces than a warp has lanes.
    cases.push_back({map(90, 600, 9, cat(kind, " align=2"))});
    cases.push_back({map(75, 1024, 40, kind), 1});
  }
  for (const char* map_kind : {"map=mask", "map=mask index=i32", "map=bits"}) {
    for (const char* vector : {"vector=1", "vector=2", "vector=4", "vector=8", "vector=16"}) {
      const std::string kind(map_kind);
      const int bytes = vector[7] == '1' && vector[8] == '6' ? 16 : vector[7] - '0';
      if (bytes < (kind == "map=mask index=i32" ? 4 : 1) || bytes > (kind == "map=bits" ? 2 : 16)) continue;
      for (const char* rest : {"blocks=1,", "blocks=64,threads=128,routes=2,"})
        cases.push_back(with(cat(rest, vector), map(201, 112, 6, kind)));
    }
  }
}

// Dropped routes are left out of row_id_map: none, some or all of a token's, and more than a warp has lanes; routes
// that stay in registers, and those that are read twice.
void dropped_row_ids(std::vector<Case>& cases) {
  for (const char* kind :
       {"map=mask row_id_map=write", "map=mask index=i32 row_id_map=write", "map=bits row_id_map=write"}) {
    for (const int capacity : {1, 50, 333, 800, 1400, 2800})
      cases.push_back({map(700, 8, 4, cat(kind, " capacity=", capacity)), capacity % 2});
    for (const char* config : {"blocks=64,threads=128,routes=1", "blocks=1,threads=128,routes=2"}) {
      cases.push_back(with(config, map(300, 100, 7, cat(kind, " align=8 capacity=900"))));
      cases.push_back(with(config, map(77, 128, 100, cat(kind, " align=4 capacity=3000"))));
    }
    cases.push_back({map(90, 600, 9, cat(kind, " align=2 empty=fill capacity=700"))});
  }
}

// Runs of no token, of a few, and of more than a warp has; those that all lanes of an expert share the ranks of, and
// those that have one lane. Capacities that drop almost all tokens, some, padding rows alone, and none.
void odd_counts(std::vector<Case>& cases) {
  const std::string kind = "map=counts";
  for (const int tokens : {0, 1, 33, 2049}) {
    for (const int ranks : {1, 3, 64, 4096}) cases.push_back({map(tokens, 1, 1, cat(kind, " ranks=", ranks))});
    for (const int ranks : {2, 31, 124}) {
      cases.push_back({map(tokens, 33, 1, cat(kind, " ranks=", ranks, " align=5 empty=fill"))});
      cases.push_back({map(tokens, 33, 1, cat(kind, " ranks=", ranks, " index=i64 tail=list")), 1});
    }
    cases.push_back({map(tokens, 1024, 1, cat(kind, " ranks=4 align=2 offset=i64"))});
    cases.push_back({map(tokens, 300, 1, cat(kind, " ranks=13 align=16 tail=list offset=i64")), 3});
  }
  for (const int capacity : {1, 100, 600, 760, 6000})
    cases.push_back({map(700, 8, 1, cat(kind, " ranks=9 align=16 tail=list capacity=", capacity))});
  for (const char* config : {"blocks=1,threads=128", "blocks=8,threads=512", "blocks=128,threads=1024"}) {
    cases.push_back(with(config, map(2100, 12, 1, cat(kind, " ranks=7 align=8"))));
    cases.push_back(with(config, map(60000, 12, 1, cat(kind, " ranks=7 align=8 index=i64")), 2));
  }
}

// ---- Rows that move

std::string rows(const std::string& family, int tokens, int experts, int hidden, int topk, const std::string& rest) {
  return cat(family, " tokens=", tokens, " experts=", experts, " hidden=", hidden, " topk=", topk, " ", rest);
}

// Sizes of models and of the peers' suites. Those are in moe_peer_cases.cpp in full.
void common_rows(const std::string& family, const std::vector<std::string>& kinds, std::vector<Case>& cases) {
  const int shapes[][4] = {{4096, 7, 4096, 2},   {4096, 16, 4096, 5},  {4096, 8, 1280, 2},   {4096, 64, 4096, 6},
                           {4096, 256, 7168, 6}, {4096, 512, 9216, 8}, {16384, 4, 7168, 1},  {12, 4, 16, 2},
                           {1, 16, 2048, 2},     {33, 64, 7168, 6},    {1024, 256, 2048, 8}, {32, 128, 7168, 8}};
  for (const auto& [tokens, experts, hidden, topk] : shapes) {
    for (const std::string& kind : kinds)
      cases.push_back({rows(family, tokens, experts, hidden, topk, cat(kind, " align=16"))});
  }
}

// Rows shorter and longer than what a warp takes at once, of each width of access; routings without a route, of one
// expert, of more routes than a thread loads at once.
void odd_rows(const std::string& family, const std::vector<std::string>& kinds, std::vector<Case>& cases) {
  for (const std::string& kind : kinds) {
    for (const int hidden : {0, 1, 8, 9, 64, 100, 1000, 2056, 4097}) {
      const int topk = 1 + hidden % 11;
      cases.push_back({rows(family, 37, 12, hidden, topk, cat(kind, " align=5"))});
      cases.push_back({rows(family, 21, 12, hidden, topk, cat(kind, " dtype=f32 tail=list")), 1});
    }
    for (const int tokens : {0, 1, 2, 300}) {
      cases.push_back({rows(family, tokens, 1, 72, 1, kind)});
      cases.push_back({rows(family, tokens, 512, 40, 16, cat(kind, " align=8 empty=fill"))});
      cases.push_back({rows(family, tokens, 512, 40, 16, cat(kind, " align=1 empty=fill"))});
      cases.push_back({rows(family, tokens, 40, 520, 33, cat(kind, " dtype=f16 align=2"))});
    }
    // The capacity drops almost all routes, some, and none.
    for (const int capacity : {1, 100, 1000})
      cases.push_back({rows(family, 70, 8, 264, 4, cat(kind, " align=16 tail=list capacity=", capacity))});
  }
}

// Probabilities of experts: fewer and more of them than threads of a token, and routes that have no row.
void dense_probs(const std::string& family, const std::vector<std::string>& kinds, std::vector<Case>& cases) {
  for (const std::string& kind : kinds) {
    const std::string dense = cat(kind, " prob_layout=experts");
    for (const int experts : {1, 3, 40, 513}) {
      for (const int hidden : {0, 9, 72, 2056}) {
        const int topk = std::min(experts, 1 + hidden % 11);
        cases.push_back({rows(family, 37, experts, hidden, topk, cat(dense, " align=5"))});
        cases.push_back({rows(family, 21, experts, hidden, topk, cat(dense, " dtype=f32 tail=list")), 1});
      }
    }
    cases.push_back({rows(family, 0, 8, 64, 2, dense)});
    for (const int capacity : {1, 100, 1000})
      cases.push_back({rows(family, 70, 8, 264, 4, cat(dense, " align=16 tail=list capacity=", capacity))});
    cases.push_back({rows(family, 300, 256, 1280, 8, cat(dense, " align=16"))});
    cases.push_back(with("lanes=8,warps=1", rows(family, 50, 100, 64, 6, cat(dense, " dtype=f16"))));
  }
}

std::string one_of(Random& random, const std::vector<std::string>& of) { return of[random.next() % of.size()]; }

void drawn_rows(const std::string& family, const std::vector<std::string>& kinds, int count, std::vector<Case>& cases) {
  Random random(20);
  for (int i = 0; i < count; ++i) {
    std::string text = family;
    text += one_of(random, {" tokens=1", " tokens=45", " tokens=129"});
    text += one_of(random, {" experts=3", " experts=16"});
    text += one_of(random, {" hidden=24", " hidden=131", " hidden=1028", " hidden=1280"});
    text += one_of(random, {" topk=1", " topk=2", " topk=3", " topk=6", " topk=8", " topk=12"});
    text += one_of(random, {" align=1", " align=16"});
    text += one_of(random, {" dtype=bf16", " dtype=f16", " dtype=f32"});
    text += cat(" ", one_of(random, kinds));
    cases.push_back({text, random.below(3) == 0 ? 1 : 0});
  }
}

// Rows that are quantized as they move: blocks in some lanes of a group, in all, and in several vectors of each;
// partial blocks at the end of a row, and scales of one to several stores of a part.
void quantized_rows(std::vector<Case>& cases) {
  for (const char* scaling : {"scaling=mx", "scaling=mx scale_layout=blocked", "scaling=block128",
                              "scaling=block128 mode=exact", "scaling=none"}) {
    for (const int hidden : {0, 1, 31, 32, 40, 100, 129, 512, 1100, 4104}) {
      const std::string kind = cat("element=e4m3 align=128 ", scaling);
      cases.push_back({rows("moe_permute", 33, 5, hidden, 3, kind)});
      cases.push_back({rows("moe_permute", 21, 5, hidden, 9, cat(kind, " dtype=f32 probs=f32 tail=list")), 1});
      cases.push_back({rows("moe_permute", 21, 5, hidden, 1, cat(kind, " dtype=f16 tail=list"))});
    }
    for (const char* config :
         {"lanes=4,unroll=4", "lanes=8,unroll=8", "lanes=16,unroll=4,threads=512", "lanes=32,unroll=8",
          "vector=8,unroll=8,lanes=32", "vector=4,lanes=16,unroll=8", "vector=2,unroll=8,lanes=32"})
      cases.push_back(with(config, rows("moe_permute", 40, 6, 1288, 4, cat("element=e4m3 align=128 ", scaling))));
    // Words of four scales; and parts of two blocks of 32, whose scales are stored one by one.
    for (const char* config : {"lanes=4,unroll=4", "lanes=8,unroll=8", "lanes=16,unroll=8", "vector=8,unroll=8"})
      cases.push_back(
          with(config, rows("moe_permute", 40, 6, 1280, 4, cat("element=e4m3 align=128 probs=f32 ", scaling))));
  }
  for (const char* scaling : {"scaling=mx", "scaling=mx scale_layout=blocked"}) {
    for (const int hidden : {32, 1280, 1288})
      cases.push_back(
          with("lanes=4,unroll=2", rows("moe_permute", 40, 6, hidden, 4, cat("element=e4m3 align=128 ", scaling))));
  }
  // Blocked scales: experts without routes, rows that the launch leaves as they were, routes that are dropped; several
  // tiles of a thread block, and thread blocks without one.
  const std::string blocked = "element=e4m3 align=128 scaling=mx scale_layout=blocked ";
  for (const char* rest : {"empty=fill", "probs=bf16", "capacity=256", "capacity=2560", "capacity=2560 tail=list"})
    cases.push_back({rows("moe_permute", 90, 7, 544, 4, blocked + rest)});
  cases.push_back({rows("moe_permute", 500, 40, 160, 6, blocked + "probs=f32")});
  for (const char* threads : {"threads=64", "threads=256,resident=1"})
    cases.push_back(with(threads, rows("moe_permute", 70, 12, 1056, 5, blocked)));
  for (const char* mode : {"floor", "ceil", "even", "rceil policy=te"}) {
    for (const char* element : {"e4m3", "e5m2"})
      cases.push_back({rows("moe_permute", 64, 4, 288, 2, cat("scaling=mx element=", element, " mode=", mode))});
  }
}

// Rows at any address: of fewer and more columns than lanes, whose last column has one element or all; and short ones.
void ragged_rows(const std::string& family, const std::vector<std::string>& kinds,
                 const std::vector<std::string>& configs, std::vector<Case>& cases) {
  for (const std::string& kind : kinds) {
    for (const int hidden : {31, 33, 127, 259, 1283})
      cases.push_back({rows(family, 41, 6, hidden, 3, cat(kind, " align=8")), hidden % 3});
    for (const std::string& config : configs)
      cases.push_back(with(cat("ragged=1,", config), rows(family, 40, 6, 1283, 4, cat(kind, " tail=list"))));
    cases.push_back({rows(family, 40, 6, 512, 4, cat(kind, " align=8")), 3});
  }
}

// A scale for each row: rows of fewer lanes than a warp, of one and several warps, kept in registers and read again.
void rows_with_a_scale(std::vector<Case>& cases) {
  const std::string kind = "element=e4m3 scaling=row align=16";
  for (const int hidden : {0, 1, 33, 520, 1288, 7168}) {
    cases.push_back({rows("moe_permute", 33, 5, hidden, 3, kind)});
    cases.push_back({rows("moe_permute", 21, 5, hidden, 9, cat(kind, " dtype=f32 probs=f32 mode=exact tail=list")), 1});
  }
  for (const char* config : {"warps=1,lanes=4,unroll=8", "warps=1,lanes=8,unroll=2,threads=512", "warps=8,unroll=1",
                             "warps=2,unroll=2,vector=8"})
    cases.push_back(with(config, rows("moe_permute", 40, 6, 1288, 4, cat(kind, " mode=exact probs=f32"))));
  cases.push_back({rows("moe_permute", 3, 5, 40000, 2, "element=e5m2 scaling=row mode=floor dtype=f16")});
  for (const char* mode : {"ceil", "even"})
    cases.push_back({rows("moe_permute", 64, 4, 288, 2, cat("scaling=row element=e5m2 empty=fill mode=", mode))});
}

// Rows times a factor of their token or route: each form of rows, each type, and short, odd and long rows.
void rows_with_factors(std::vector<Case>& cases) {
  const std::vector<std::string> kinds = {"scale=f32", "scale=f16 scale_of=routes", "scale=bf16 probs=f32 empty=fill",
                                          "scale=f32 scale_of=routes probs=f32 prob_layout=experts empty=fill"};
  for (const std::string& kind : kinds) {
    for (const char* dtype : {"f32", "f16", "bf16"}) {
      for (const int hidden : {1, 3, 8, 40, 264, 300, 1283})
        cases.push_back({rows("moe_permute", 60, 9, hidden, 3, cat(kind, " dtype=", dtype)), hidden % 2});
    }
    for (const int topk : {1, 2, 8, 9}) cases.push_back({rows("moe_permute", 60, 9, 1024, topk, kind)});
    cases.push_back({rows("moe_permute", 0, 9, 64, 2, kind)});
    cases.push_back({rows("moe_permute", 60, 9, 0, 2, kind)});
    for (const char* config : {"lanes=8", "unroll=1", "vector=4", "load_once=1,store_stream=0"})
      cases.push_back(with(config, rows("moe_permute", 60, 9, 264, 4, kind)));
    ragged_rows("moe_permute", {kind}, {"lanes=4,unroll=4", "lanes=16,unroll=1"}, cases);
    for (const char* made : {"", " scaling=mx", " scaling=block128"})
      for (const int hidden : {45, 512, 1056})
        cases.push_back({rows("moe_permute", 60, 9, hidden, 3, cat(kind, " element=e4m3", made)), hidden % 2});
  }
  // The gradients: rows of less than a segment, of several, and of one for each of several warps.
  for (const char* kind : {"scale=f32 pass=backward", "scale=f16 scale_of=routes pass=backward probs=bf16",
                           "scale=f32 scale_of=routes probs=f32 prob_layout=experts pass=backward"}) {
    for (const char* dtype : {"f32", "f16", "bf16"}) {
      for (const int hidden : {0, 1, 8, 40, 300, 1283, 4104, 9000})
        cases.push_back({rows("moe_permute", 37, 9, hidden, 3, cat(kind, " dtype=", dtype)), hidden % 2});
    }
    for (const int topk : {1, 2, 9, 33}) cases.push_back({rows("moe_permute", 60, 40, 1024, topk, kind)});
    for (const int capacity : {1, 100})
      cases.push_back({rows("moe_permute", 70, 8, 264, 4, cat(kind, " align=16 capacity=", capacity))});
    cases.push_back({rows("moe_permute", 0, 9, 64, 2, kind)});
    for (const char* config :
         {"warps=2", "threads=64,warps=1,vector=8", "load_once=1,store_stream=1", "unroll=1,warps=4"})
      cases.push_back(with(config, rows("moe_permute", 60, 9, 2056, 4, kind)));
    ragged_rows("moe_permute", {kind}, {"warps=1", "warps=4"}, cases);
  }
  for (const char* rest :
       {"scaling=row", "scaling=row mode=exact probs=f32", "scaling=mx scale_layout=blocked align=128"})
    for (const int hidden : {45, 512, 7168})
      cases.push_back({rows("moe_permute", 60, 9, hidden, 3, cat("scale=f32 element=e5m2 ", rest)), hidden % 2});
}

// Each value of each parameter, for rows that all of them may have.
void configured_rows(const std::string& family, const std::vector<std::string>& kinds,
                     const std::vector<std::string>& configs, std::vector<Case>& cases) {
  for (const std::string& kind : kinds) {
    for (const std::string& config : configs)
      cases.push_back(with(config, rows(family, 50, 12, 1288, 8, cat(kind, " align=4"))));
  }
}

}  // namespace

std::vector<Case> moe_map_cases() {
  std::vector<Case> cases;
  common_maps(cases);
  add_peer_maps(cases);
  odd_maps(cases);
  dropped_row_ids(cases);
  odd_counts(cases);
  return cases;
}

std::vector<Case> moe_permute_cases() {
  const std::vector<std::string> kinds = {"pass=forward", "pass=forward probs=f32", "pass=backward",
                                          "pass=backward probs=bf16"};
  std::vector<Case> cases;
  dense_probs("moe_permute", {"pass=forward probs=f32", "pass=backward probs=f32", "pass=forward probs=bf16"}, cases);
  common_rows("moe_permute", kinds, cases);
  add_peer_permutes(cases);
  odd_rows("moe_permute", kinds, cases);
  drawn_rows("moe_permute", kinds, 60, cases);
  for (const char* dtype : {"e4m3", "e5m2", "u8"}) {
    cases.push_back({rows("moe_permute", 60, 9, 272, 3, cat("pass=forward probs=f16 align=16 dtype=", dtype))});
    cases.push_back({rows("moe_permute", 60, 9, 77, 3, cat("pass=forward align=16 dtype=", dtype)), 1});
  }
  for (const char* scaling : {"row", "block128", "mx"}) {
    for (const int hidden : {1, 300, 512, 7168}) {
      const std::string kind = cat("pass=forward align=16 dtype=e4m3 scaling=", scaling);
      cases.push_back({rows("moe_permute", 60, 9, hidden, 3, kind)});
      cases.push_back({rows("moe_permute", 60, 9, hidden, 9, cat(kind, " probs=f32")), 1});
    }
  }
  ragged_rows("moe_permute", {kinds[1]}, {"lanes=4,unroll=4", "lanes=16,unroll=1,store_stream=1"}, cases);
  ragged_rows("moe_permute", {kinds[2]}, {"batch=1,unroll=4,lanes=8", "batch=2,unroll=2,lanes=4"}, cases);
  for (const char* dtype : {"u8", "f32"})
    for (const int hidden : {65, 1283})
      cases.push_back({rows("moe_permute", 60, 9, hidden, 3, cat("align=16 dtype=", dtype)), 1});
  quantized_rows(cases);
  rows_with_factors(cases);
  rows_with_a_scale(cases);
  configured_rows("moe_permute", {kinds[0], kinds[1]},
                  {"vector=8,unroll=8", "vector=4,unroll=1,lanes=8", "vector=2,unroll=8,lanes=4",
                   "unroll=2,threads=512", "unroll=8,lanes=16,threads=64", "load_once=0,store_stream=0"},
                  cases);
  configured_rows("moe_permute", {kinds[2], kinds[3]},
                  {"batch=1,unroll=8", "batch=2,unroll=4,lanes=8", "batch=4,unroll=2,threads=512", "vector=8,unroll=2",
                   "vector=2,unroll=8,lanes=4", "load_once=0,store_stream=0,lanes=16"},
                  cases);
  return cases;
}

std::vector<Case> moe_unpermute_cases() {
  const std::vector<std::string> kinds = {
      "pass=forward",  "pass=forward probs=f32",  "pass=forward probs=bf16 residual=add",
      "pass=backward", "pass=backward probs=f32", "pass=backward probs=f16"};
  std::vector<Case> cases;
  dense_probs("moe_unpermute",
              {"pass=forward probs=f32", "pass=backward probs=f32", "pass=forward probs=bf16 residual=add",
               "pass=backward probs=f16"},
              cases);
  common_rows("moe_unpermute", {kinds[1], kinds[4]}, cases);
  add_peer_unpermutes(cases);
  odd_rows("moe_unpermute", kinds, cases);
  drawn_rows("moe_unpermute", kinds, 90, cases);
  for (const char* rest : {"dtype=e4m3", "dtype=u8", "dtype=e4m3 scaling=mx", "dtype=e5m2 scaling=block128"})
    cases.push_back({rows("moe_unpermute", 60, 9, 272, 3, cat("pass=backward align=16 ", rest))});
  configured_rows("moe_unpermute", {kinds[1], kinds[2]},
                  {"batch=1,unroll=8", "batch=2,unroll=4,lanes=8", "batch=4,unroll=2,threads=512", "vector=8,unroll=2",
                   "vector=2,unroll=8,lanes=4", "load_once=0,store_stream=0,lanes=16"},
                  cases);
  configured_rows("moe_unpermute", {kinds[4], kinds[5]},
                  {"warps=1,threads=64", "warps=2", "warps=4", "warps=8,batch=2", "warps=1,batch=2,vector=8",
                   "vector=2,warps=4,batch=1", "warps=1,load_once=0,store_stream=0,threads=512"},
                  cases);
  // The default of few bytes is 1.
  for (const char* config : {"lookups_first=0", "lookups_first=0,batch=2", "lookups_first=1,batch=2"})
    for (const int topk : {5, 9}) cases.push_back(with(config, rows("moe_unpermute", 60, 9, 264, topk, kinds[1])));
  ragged_rows("moe_unpermute", {kinds[2]}, {"batch=1,unroll=2,lanes=8"}, cases);
  ragged_rows("moe_unpermute", {kinds[3]}, {"unroll=2,lanes=8"}, cases);
  ragged_rows("moe_unpermute", {kinds[4]}, {"warps=4", "warps=1,threads=64"}, cases);
  // A row of few chunks: one or several of fewer lanes than 32, and of a warp.
  for (const char* config : {"lanes=4,warps=1", "lanes=8,warps=1", "lanes=16,warps=1,batch=2", "lanes=32,warps=2"})
    cases.push_back(with(config, rows("moe_unpermute", 50, 12, 32, 8, "pass=backward probs=f32 align=4")));
  for (const char* config : {"lanes=8,unroll=4", "lanes=16,unroll=2", "lanes=32,unroll=1", "lanes=32,unroll=2,batch=2"})
    for (const char* dtype : {"bf16", "f32"})
      cases.push_back(
          with(config, rows("moe_unpermute", 50, 12, 120, 8, cat("pass=backward probs=f32 dtype=", dtype))));
  // Segments of one, two and four chunks of a lane, so that sums of several are added in a tree, and in sequence.
  for (const char* config : {"unroll=1,warps=8", "unroll=1,warps=2,batch=1", "unroll=2,warps=4", "unroll=4,warps=4"})
    for (const int hidden : {264, 1288, 4360})
      cases.push_back(with(config, rows("moe_unpermute", 30, 12, hidden, 4, "pass=backward probs=f32")));
  // Warps without a segment, and teams that share the routes of few tokens; the last one has fewer.
  for (const char* config : {"warps=8,batch=1,lanes=32", "warps=8,batch=2,lanes=32"}) {
    cases.push_back(with(config, rows("moe_unpermute", 20, 12, 32, 5, "pass=backward probs=f32 align=4")));
    cases.push_back(with(config, rows("moe_unpermute", 5, 12, 2600, 7, "pass=backward probs=bf16 align=4")));
  }
  // Teams of one warp, whose last one left the loop before the shuffles of the others.
  cases.push_back(with("batch=1", rows("moe_unpermute", 512, 16, 64, 7, "pass=backward probs=f32")));
  cases.push_back({rows("moe_unpermute", 480, 16, 31, 5, "pass=backward probs=bf16 dtype=f32 align=4"), 1});
  return cases;
}

// Chunks fewer and more than the threads of a block, than rows, and none with rows; rows as above.
std::vector<Case> chunk_sort_cases() {
  const std::vector<std::string> kinds = {"pass=forward", "pass=forward probs=f32", "pass=backward",
                                          "pass=backward probs=bf16"};
  const auto text = [](int rows, int hidden, int chunks, const std::string& rest) {
    return cat("chunk_sort rows=", rows, " hidden=", hidden, " chunks=", chunks, " ", rest);
  };
  std::vector<Case> cases;
  add_peer_chunk_sorts(cases);
  for (const std::string& kind : kinds) {
    for (const int chunks : {14, 32, 56, 128}) cases.push_back({text(4096, 4096, chunks, kind)});
    for (const int rows : {0, 1, 33, 1000}) {
      for (const int chunks : {1, 2, 63, 64, 65, 129, 700, 4096}) cases.push_back({text(rows, 72, chunks, kind)});
    }
    // Several parts of a group, and fewer for those of the last block.
    for (const int chunks : {40, 90}) cases.push_back({text(3001, 264, chunks, kind)});
    for (const int hidden : {0, 1, 9, 100, 2056, 4097}) {
      cases.push_back({text(90, hidden, 7, cat(kind, " index=i64"))});
      cases.push_back({text(90, hidden, 40, cat(kind, " dtype=f32")), 1});
    }
    for (const char* config : {"vector=8,unroll=8", "vector=4,unroll=1,lanes=8", "vector=2,unroll=8,lanes=4",
                               "unroll=2,threads=512", "unroll=8,lanes=16,threads=64", "load_once=1,store_stream=1"})
      cases.push_back(with(config, text(150, 1288, 50, kind)));
    for (const char* scaling : {"none", "row", "block128", "mx"}) {
      cases.push_back({text(70, 272, 20, cat(kind, " dtype=e4m3 scaling=", scaling))});
      cases.push_back({text(70, 33, 20, cat(kind, " dtype=u8 scaling=", scaling)), 1});
    }
  }
  return cases;
}

}  // namespace quern::test
