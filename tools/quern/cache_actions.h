// What `quern cache` can do: an action is a row of the table in cache.cpp, the larger ones have files of their own.
#ifndef QUERN_TOOLS_CACHE_ACTIONS_H_
#define QUERN_TOOLS_CACHE_ACTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "quern/runtime.h"

namespace quern::tool {

// What was typed after `quern cache ACTION`.
struct CacheArguments {
  std::vector<std::string> words;
  std::string emit;
  std::string max_bytes;
  std::string max_entries;
  bool outdated = false;
  std::string arch;
  std::string device_model;
  std::string config;
  bool json = false;
  const Global* global = nullptr;
};

// Each returns the exit code.
int cache_verify(Runtime& runtime, const CacheArguments& arguments);
int cache_prune(Runtime& runtime, const CacheArguments& arguments);
int cache_explain(Runtime& runtime, const CacheArguments& arguments);

// Throws Error (bad_input) unless what was typed is a problem and a place for it.
void check_explained(Runtime& runtime, const CacheArguments& arguments);

// UTC, ISO 8601.
std::string time_text(std::int64_t unix_ns);
// The value of a key text's field; empty if it has none.
std::string key_field(std::string_view text, std::string_view label);
// Why this build of quern never asks for the image whose key text this is; empty if it may.
std::string why_outdated(const Runtime& runtime, std::string_view what);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_CACHE_ACTIONS_H_
