// The actions of `quern cache`: each is a row of the table in cache.cpp; the larger ones have files of their own.
#ifndef QUERN_TOOLS_COMMANDS_CACHE_ACTIONS_H_
#define QUERN_TOOLS_COMMANDS_CACHE_ACTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "cache/store.h"
#include "io/command.h"
#include "quern/runtime.h"

namespace quern::tool {

// The arguments after `quern cache ACTION`.
struct CacheArguments {
  std::vector<std::string> words;
  std::string emit;
  std::string max_bytes;
  std::string max_entries;
  bool outdated = false;
  bool host_code = false;
  bool compress = false;
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

// Throws Error (bad_input) unless the arguments are a problem and a target for it.
void check_explained(Runtime& runtime, const CacheArguments& arguments);

// The contents of each layer.
struct Holding {
  std::size_t entries = 0;  // including damaged ones
  std::uint64_t bytes = 0;
  std::size_t damaged = 0;
  std::size_t untrusted = 0;  // entries and folders
  std::size_t newer = 0;      // of a later quern's schema
};
Holding holding_of(const std::string& layer, const std::vector<cache::Item>& items,
                   const std::vector<cache::Item>& untrusted);
// A sentence about the untrusted files of a layer: how many, the first, and what to do; "" if there are none.
std::string untrusted_sentence(const cache::Store& store, const std::string& layer,
                               const std::vector<cache::Item>& untrusted);
// Untrusted files in all layers: cache items, and other files.
std::vector<cache::Item> all_untrusted(cache::Store& store, const std::vector<cache::Item>& items);

// UTC, ISO 8601.
std::string time_text(std::int64_t unix_ns);
// The value of a field of a key's text; empty if it has none.
std::string key_field(std::string_view text, std::string_view label);
// Why this build of quern never uses an image with this key text; empty if it may.
std::string why_outdated(const Runtime& runtime, std::string_view what);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_CACHE_ACTIONS_H_
