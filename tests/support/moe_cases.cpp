// Routings of tokens to experts: the sizes that TransformerEngine, vLLM and torchtitan test, and the edges between
// warps, words, thread blocks and iterations.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {
namespace {

std::string map(int tokens, int experts, int topk, const std::string& rest) {
  return cat("moe_map tokens=", tokens, " experts=", experts, " topk=", topk, " ", rest);
}

const std::vector<std::string> kKinds = {"map=ids",  "map=ids index=i64",        "map=mask", "map=mask index=i32",
                                         "map=bits", "map=mask row_id_map=write"};

// TransformerEngine's and vLLM's.
void published_maps(std::vector<Case>& cases) {
  const int shapes[][3] = {{4096, 7, 2},   {4096, 16, 5},  {4096, 8, 2}, {4096, 64, 6},
                           {4096, 256, 6}, {4096, 512, 8}, {12, 16, 2},  {512, 8, 2}};
  for (const auto& [tokens, experts, topk] : shapes) {
    for (const std::string& kind : kKinds) cases.push_back({map(tokens, experts, topk, cat(kind, " align=16"))});
  }
  for (const int tokens : {1, 33, 1024, 5000}) {
    for (const int experts : {16, 64, 256}) {
      for (const int ranks : {1, 4, 16}) {
        const std::string global = ranks == 1 ? "" : cat(" global=", experts);
        cases.push_back({map(tokens, experts / ranks, 6, cat("align=128 offset=i64", global))});
      }
    }
  }
}

void odd_maps(std::vector<Case>& cases) {
  for (const std::string& kind : kKinds) {
    for (const int tokens : {0, 1, 31, 32, 33, 100, 2049}) {
      cases.push_back({map(tokens, 1, 1, kind)});
      cases.push_back({map(tokens, 31, 3, cat(kind, " align=8"))});
      cases.push_back({map(tokens, 33, 2, cat(kind, " align=5 empty=fill"))});
      cases.push_back({map(tokens, 130, 9, cat(kind, " tail=list"))});
    }
    cases.push_back({map(70, 1024, 1, cat(kind, " align=2"))});
    cases.push_back({map(2049, 96, 96, kind)});
    cases.push_back({map(700, 8, 4, cat(kind, " align=1000 empty=fill tail=list"))});
    // The capacity drops almost all routes, some, padding rows alone, and nothing.
    for (const int capacity : {1, 100, 1000, 2800, 6000})
      cases.push_back({map(700, 8, 4, cat(kind, " align=16 tail=list capacity=", capacity))});
    for (const char* config : {"blocks=0,threads=128", "blocks=0,threads=1024", "blocks=1,threads=256"})
      cases.push_back(with(config, map(1000, 100, 7, cat(kind, " align=32"))));
  }
}

}  // namespace

std::vector<Case> moe_map_cases() {
  std::vector<Case> cases;
  published_maps(cases);
  odd_maps(cases);
  return cases;
}

}  // namespace quern::test
