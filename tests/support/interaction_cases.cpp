// Products of features: DLRM's, of every form, type and pass; sizes around each tile and column; gaps, misalignment and
// each config.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {
namespace {

const std::vector<std::string> kInteractionTypes = {"f32", "bf16", "f16"};
const std::vector<std::string> kInteractionPasses = {"forward", "backward"};

std::string interaction(const std::string& form, int batch, int features, int dim, const std::string& rest = {}) {
  return cat("interaction form=", form, " batch=", batch, " features=", features, " dim=", dim, rest.empty() ? "" : " ",
             rest);
}

// The talk's and facebookresearch/dlrm's shapes.
void published_interactions(std::vector<Case>& cases, const std::string& rest) {
  cases.push_back({interaction("outer", 2, 1, 432, rest)});
  cases.push_back({interaction("outer", 2, 27, 16, rest)});
  for (const char* dense : {"dense=128", "dense=128 diagonal=1", "dense=0"})
    cases.push_back({interaction("lower", 33, 27, 128, cat(dense, " ", rest))});
  cases.push_back({interaction("lower", 128, 27, 16, cat("dense=16 ", rest))});
  cases.push_back({interaction("lower", 9, 40, 64, cat("dense=64 ", rest))});
}

// Around the sides of tiles, the columns of a row and what a lane has; one vector, and one number.
void odd_interactions(std::vector<Case>& cases, const std::string& rest) {
  const int features[] = {1, 2, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 48, 65};
  const int dims[] = {1, 2, 7, 8, 15, 16, 24, 31, 33, 63, 64, 65, 100, 129};
  for (int i = 0; i < 14; ++i) {
    const int dense = i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : features[i] * dims[(i + 5) % 14] / 2;
    const std::string columns = cat("dense=", dense, " diagonal=", i % 2, " ", rest);
    cases.push_back({interaction("lower", 5, features[i], dims[(i + 5) % 14], columns), i % 3});
    cases.push_back(
        {interaction("lower", 3, features[i], dims[13 - i], cat("diagonal=", (i + 1) % 2, " ", rest)), i % 2});
  }
  for (int i = 0; i < 14; i += 2) {
    cases.push_back({interaction("outer", 3, 1, dims[i], rest), i % 3});
    cases.push_back({interaction("outer", 2, 3, dims[i + 1], rest), (i + 1) % 3});
  }
  for (const char* form : {"lower", "outer"}) {
    for (const int batch : {0, 1}) cases.push_back({interaction(form, batch, 6, 8, rest)});
    cases.push_back({interaction(form, 700, 3, 5, rest), 1});
  }
  cases.push_back({interaction("lower", 2, 128, 40, cat("dense=40 ", rest))});
  cases.push_back({interaction("lower", 2, 3, 1000, cat("dense=3000 diagonal=1 ", rest))});
  cases.push_back({interaction("outer", 1, 1, 1030, rest)});
}

void strided_interactions(std::vector<Case>& cases, const std::string& rest) {
  cases.push_back({interaction("lower", 5, 9, 16, cat("dense=16 source_stride=160 out_stride=64 ", rest))});
  cases.push_back({interaction("lower", 5, 9, 13, cat("dense=13 source_stride=131 out_stride=53 ", rest)), 1});
  cases.push_back({interaction("lower", 5, 27, 64, cat("dense=64 out_stride=416 ", rest)), 1});
  cases.push_back({interaction("outer", 5, 2, 8, cat("source_stride=24 out_stride=264 ", rest))});
  cases.push_back({interaction("outer", 5, 1, 9, cat("source_stride=11 out_stride=83 ", rest)), 1});
}

// Every value of each parameter; no config changes a bit, which a sweep checks.
void configured_interactions(std::vector<Case>& cases) {
  for (const std::string& pass : kInteractionPasses) {
    for (const std::string& type : kInteractionTypes) {
      const std::string rest = cat("dense=20 diagonal=1 dtype=", type, " pass=", pass);
      const bool staged = type == "f32" && pass == "forward";
      for (const char* config : {"whole=0,unroll=1,band=16,threads=32", "whole=1,unroll=2,band=32,threads=64",
                                 "whole=1,unroll=4,band=16,threads=128", "whole=0,unroll=4,band=32"}) {
        if (staged) continue;
        cases.push_back(with(config, interaction("lower", 7, 37, 136, rest)));
        cases.push_back(with(config, interaction("lower", 7, 12, 40, rest)));
      }
      for (const char* config : {"numbers=32,threads=32", "numbers=64,whole=0", "numbers=128,threads=64"}) {
        if (staged) cases.push_back(with(config, interaction("lower", 7, 37, 136, rest)));
      }
      const std::string outer = cat("dtype=", type, " pass=", pass);
      for (const char* config : {"unroll=1", "unroll=2", "unroll=8"})
        cases.push_back(with(config, interaction("outer", 3, 1, 136, outer)));
      if (pass == "forward") cases.push_back(with("threads=32,unroll=4", interaction("outer", 3, 1, 135, outer)));
      if (pass == "backward") cases.push_back(with("whole=0,unroll=4", interaction("outer", 3, 1, 136, outer)));
    }
  }
}

}  // namespace

std::vector<Case> interaction_cases() {
  std::vector<Case> cases;
  for (const std::string& type : kInteractionTypes) {
    for (const std::string& pass : kInteractionPasses) {
      const std::string rest = cat("dtype=", type, " pass=", pass);
      published_interactions(cases, rest);
      odd_interactions(cases, rest);
      strided_interactions(cases, rest);
    }
  }
  configured_interactions(cases);
  return cases;
}

}  // namespace quern::test
