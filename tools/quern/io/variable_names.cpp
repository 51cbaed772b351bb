#include "io/variable_names.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"

namespace quern::tool {
namespace {

constexpr std::string_view kPrefix = "QUERN_";
constexpr std::string_view kTests = "QUERN_TEST_";
// Variables that only other programs read: the host driver, and the build scripts.
constexpr std::array<std::string_view, 3> kOthers = {"QUERN_HOSTDRIVER", "QUERN_CUDA_INCLUDE", "QUERN_FORCE_WHEELS"};
// Former names of variables.
constexpr Alias kFormer[] = {{"quern_record", "QUERN_MANIFEST"}};

std::vector<std::string> known_names() {
  std::vector<std::string> names(kOthers.begin(), kOthers.end());
  for (int i = 0; i < static_cast<int>(Variable::count); ++i) {
    const std::string name = row(static_cast<Variable>(i)).name;
    if (name.rfind(kPrefix, 0) == 0) names.push_back(name);
  }
  return names;
}

// The known name that is close to it; "" if none is. The common prefix is not compared.
std::string meant_by_name(const std::string& name, const std::vector<std::string>& known) {
  if (std::string former = meant_by(name, kFormer); former != lower(name)) return former;
  std::vector<std::string> ends;
  for (const std::string& each : known) ends.push_back(each.substr(kPrefix.size()));
  const std::string close = closest(name.substr(kPrefix.size()), ends);
  return close.empty() ? "" : cat(kPrefix, close);
}

}  // namespace

std::vector<std::string> mistyped_variables(const std::vector<std::string>& names) {
  const std::vector<std::string> known = known_names();
  std::vector<std::string> sentences;
  for (const std::string& name : names) {
    if (name.rfind(kPrefix, 0) != 0 || name.rfind(kTests, 0) == 0) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (const std::string meant = meant_by_name(name, known); !meant.empty())
      sentences.push_back(cat(name, " is set, and nothing reads it. Did you mean ", meant, "?"));
  }
  return sentences;
}

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace quern::tool
