// The grids of rope's peers: problems that rope takes, of which those that every tier runs have all choices.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/text.h"
#include "support/rope_peer_cases.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::Case;

std::set<std::string> words_of(const Case& c) {
  std::set<std::string> words;
  for (const std::string_view word : split(c.problem, ' ')) {
    if (word.find("strides") == std::string_view::npos) words.emplace(word);
  }
  words.insert(c.scalars);
  return words;
}

TEST(RopePeers, HaveGridsOfProblems) {
  std::set<std::string> all, usual;
  for (const Case& c : test::peer_grids()) {
    EXPECT_EQ(test::refusal(c.problem), "") << c.problem;
    const std::set<std::string> words = words_of(c);
    all.insert(words.begin(), words.end());
    if (!c.full) usual.insert(words.begin(), words.end());
  }
  // Extents of what is shortened may be left to the full tier.
  for (const std::string& word : all) {
    const bool is_extent = word.find("batch=") == 0 || word.find("seq=") == 0 || word.find("table_rows=") == 0;
    EXPECT_TRUE(is_extent || usual.count(word) != 0) << word;
  }
}

// Both ranks and a sequence that is not shared, forward and backward, in both styles and all layouts.
TEST(RopePeers, AreRunByEachRankInEachTier) {
  std::set<std::string> usual;
  for (const Case& c : test::peer_grids()) {
    const std::set<std::string> words = words_of(c);
    if (c.full || words.count("table=angles") == 0 || words.count("values=copied") != 0) continue;
    const auto one_of = [&](std::initializer_list<const char*> choices) {
      for (const char* choice : choices) {
        if (words.count(choice) != 0) return std::string(choice);
      }
      return std::string("other");
    };
    usual.insert(cat(one_of({"layout=thd"}), " ", one_of({"cp_rank=0", "cp_rank=1"}), " ",
                     one_of({"style=half", "style=interleaved"}), " ", one_of({"pass=forward", "pass=backward"})));
  }
  EXPECT_EQ(usual.size(), 2U * 3 * 2 * 2);
}

}  // namespace
}  // namespace quern
