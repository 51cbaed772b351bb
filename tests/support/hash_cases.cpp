// Tables of no key, of one, of a warp and of several blocks, of the least capacity and of larger ones; and their
// look-up. Which keys they are, how often they repeat and where they collide follows from the seed.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {

std::vector<Case> hash_table_cases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& text, const char* config, int offset) {
    Case c = *config == '\0' ? Case{text} : with(config, text);
    c.offset = offset;
    cases.push_back(c);
  };
  for (const char* dtype : {" dtype=i64", " dtype=i32"}) {
    for (const int count : {0, 1, 2, 3, 31, 32, 33, 64, 512, 1000, 4096, 5000, 30000}) {
      for (const int offset : {0, 1}) add(cat("hash_table count=", count, dtype), "", offset);
    }
    for (const int capacity : {2048, 65536}) add(cat("hash_table count=1000 capacity=", capacity, dtype), "", 0);
    for (const char* config : {"insert.threads=64", "insert.threads=512,write.unroll=1",
                               "write.unroll=8,write.threads=64", "write.unroll=2,write.vector=8"}) {
      for (const int count : {40, 3000}) add(cat("hash_table count=", count, dtype), config, 0);
    }
    for (const int count : {0, 1, 31, 33, 1000, 5000}) {
      for (const int capacity : {1, 2, 64, 4096, 65536}) {
        for (const int offset : {0, 1})
          add(cat("hash_table op=find count=", count, " capacity=", capacity, dtype), "", offset);
      }
    }
    for (const char* config :
         {"find.unroll=1", "find.unroll=2,find.threads=64", "find.unroll=8,find.threads=512", "find.vector=8"}) {
      for (const int capacity : {64, 1024})
        add(cat("hash_table op=find count=3000 capacity=", capacity, dtype), config, 0);
    }
  }
  return cases;
}

}  // namespace quern::test
