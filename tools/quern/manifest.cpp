#include "manifest.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace quern::tool {
namespace {

using Json = nlohmann::json;

struct Member {
  const char* name;
  std::string ManifestItem::*text;
};
constexpr std::array<Member, 4> kMembers = {{{"problem", &ManifestItem::problem},
                                             {"arch", &ManifestItem::arch},
                                             {"device_model", &ManifestItem::device_model},
                                             {"config", &ManifestItem::config}}};

// "" or what is wrong.
std::string set_member(const std::string& name, const Json& value, ManifestItem& item) {
  for (const Member& member : kMembers) {
    if (name != member.name) continue;
    if (!value.is_string()) return cat(name, " is no text");
    item.*member.text = value.get<std::string>();
    return (item.*member.text).empty() ? cat(name, " is empty") : "";
  }
  return cat("\"", name, "\" is unknown; a line has problem, arch or device_model, and config");
}

std::string fill(const Json& object, ManifestItem& item) {
  if (!object.is_object()) return "it is no JSON object";
  for (const auto& [name, value] : object.items()) {
    if (std::string reason = set_member(name, value, item); !reason.empty()) return reason;
  }
  if (item.problem.empty()) return "problem is missing";
  if (!item.arch.empty() && !item.device_model.empty()) return "it has both arch and device_model; give one";
  return {};
}

std::string parse_line(std::string_view line, ManifestItem& item) {
  try {
    return fill(Json::parse(line), item);
  } catch (const Json::parse_error& error) {
    return cat("it is no JSON: wrong at byte ", error.byte);
  } catch (const Json::out_of_range&) {
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
