#include "io/manifest.h"

#include <nlohmann/json.hpp>

#include "fuzz/targets.h"

namespace quern::fuzz {
namespace {

using tool::Manifest;
using tool::ManifestItem;

template <class Line>
void check_order(const std::vector<Line>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    require(lines[i].line > (i == 0 ? 0 : lines[i - 1].line), "line numbers rise from 1");
}

std::string line_of(const ManifestItem& item) {
  nlohmann::ordered_json line = {{"problem", item.problem}};
  if (!item.arch.empty()) line["arch"] = item.arch;
  if (!item.device_model.empty()) line["device_model"] = item.device_model;
  if (!item.config.empty()) line["config"] = item.config;
  return line.dump();
}

void check_item(const ManifestItem& item) {
  require(!item.problem.empty(), "every item has a problem");
  require(item.arch.empty() || item.device_model.empty(), "an item is for one device");
  const Manifest again = tool::parse_manifest(line_of(item));
  require(again.bad.empty() && again.items.size() == 1, "an item that is written is read");
  const ManifestItem& read = again.items.front();
  require(read.problem == item.problem && read.arch == item.arch && read.device_model == item.device_model &&
              read.config == item.config,
          "an item that is written reads the same");
}

}  // namespace

void manifest(std::string_view bytes) {
  const Manifest manifest = tool::parse_manifest(bytes);
  check_order(manifest.items);
  check_order(manifest.bad);
  for (const tool::BadLine& bad : manifest.bad) require(!bad.reason.empty(), "every bad line has a reason");
  for (const ManifestItem& item : manifest.items) check_item(item);
}

}  // namespace quern::fuzz
