#include "io/manifest.h"

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace quern::tool {
namespace {

using Parsed = nlohmann::json;

// Far more than a problem takes: what is wrong with a line is shown with it.
constexpr std::size_t kMostLineBytes = 16384;

struct Member {
  const char* name;
  std::string ManifestItem::*text;
};
constexpr std::array<Member, 4> kMembers = {{{"problem", &ManifestItem::problem},
                                             {"arch", &ManifestItem::arch},
                                             {"device_model", &ManifestItem::device_model},
                                             {"config", &ManifestItem::config}}};

// "" or the error.
std::string set_member(const std::string& name, const Parsed& value, ManifestItem& item) {
  for (const Member& member : kMembers) {
    if (name != member.name) continue;
    if (!value.is_string()) return cat(name, " is not a string");
    item.*member.text = value.get<std::string>();
    return (item.*member.text).empty() ? cat(name, " is empty") : "";
  }
  return cat("\"", name, "\" is unknown; a line has problem, arch or device_model, and config");
}

std::string fill(const Parsed& object, ManifestItem& item) {
  if (!object.is_object()) return "it is not a JSON object";
  for (const auto& [name, value] : object.items()) {
    if (std::string reason = set_member(name, value, item); !reason.empty()) return reason;
  }
  if (item.problem.empty()) return "problem is missing";
  if (!item.arch.empty() && !item.device_model.empty()) return "it has both arch and device_model; give one";
  return {};
}

// A parser would keep only one of two members with the same name.
std::string parse_line(std::string_view line, ManifestItem& item) {
  if (line.size() > kMostLineBytes)
    return cat("it has ", line.size(), " bytes, and ", kMostLineBytes, " are the most; give each problem a line");
  std::set<std::string> names;
  std::string twice;
  const auto note_names = [&](int depth, Parsed::parse_event_t event, const Parsed& parsed) {
    if (depth == 1 && event == Parsed::parse_event_t::key && !names.insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  try {
    const Parsed object = Parsed::parse(line, note_names);
    return twice.empty() ? fill(object, item) : cat("it has ", twice, " twice");
  } catch (const Parsed::parse_error& error) {
    return cat("invalid JSON at byte ", error.byte);
  } catch (const Parsed::out_of_range&) {
    return "it has a number that is too large";
  }
}

}  // namespace

Manifest parse_manifest(std::string_view text) {
  Manifest manifest;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    ManifestItem item;
    item.line = number;
    if (std::string reason = parse_line(line, item); reason.empty()) {
      manifest.items.push_back(std::move(item));
    } else {
      manifest.bad.push_back({number, std::move(reason)});
    }
  }
  return manifest;
}

}  // namespace quern::tool
