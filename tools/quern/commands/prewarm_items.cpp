#include "commands/prewarm_items.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "io/command.h"
#include "io/gunzip.h"
#include "io/subject.h"
#include "plan/problem.h"
#include "plan/variants.h"

namespace quern::tool {
namespace {

// The images for `--arch all`: those of a device of each known architecture.
std::set<std::string> all_architectures() {
  std::set<std::string> names;
  for (const DeviceModel& model : device_models()) names.insert(target_of(model.arch).text());
  return names;
}

class Items {
 public:
  Items(Runtime& runtime, const PrewarmRequest& request) : runtime_(runtime), request_(request) {}

  PrewarmItems of_words() {
    const Subject subject = parse_subject(runtime_, request_.words);
    for (const std::string& arch : architectures())
      add({subject.problem, arch, request_.device_model, request_.config});
    return std::move(found_);
  }

  PrewarmItems of_manifest() {
    if (!request_.words.empty()) throw wrong("give a problem or --manifest, not both");
    Manifest manifest = parse_manifest(read_text_file(request_.manifest));
    if (is_typed()) architectures();  // report a wrong --arch before reading lines
    found_.bad = std::move(manifest.bad);
    std::size_t others = 0;
    for (const ManifestItem& line : manifest.items) {
      try {
        add_line(line);
      } catch (const Error& error) {
        if (error.code != Code::bad_input) throw;
        found_.bad.push_back({line.line, error.sentence});
        if (is_of_another_family(line)) ++others;
      }
    }
    std::sort(found_.bad.begin(), found_.bad.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
    if (found_.bad.size() != others && !request_.keep_going) refuse_lines();
    return std::move(found_);
  }

 private:
  bool is_typed() const { return !request_.arch.empty() || !request_.device_model.empty(); }

  // Applications may write lines for families that this command does not have.
  bool is_of_another_family(const ManifestItem& line) const {
    const std::string_view name = split(trim(line.problem), ' ').front();
    const auto families = runtime_.families();
    return std::none_of(families.begin(), families.end(), [&](const Family* f) { return name == f->name; });
  }

  // Each architecture of --arch, or the model's own.
  std::vector<std::string> architectures() const {
    const std::string& model = request_.device_model;
    if (request_.arch.empty()) return {parse_place(runtime_, "", model).target.text()};
    std::vector<std::string> names;
    for (const std::string_view part : split(request_.arch, ',')) {
      const std::string name(trim(part));
      if (lower(name) == "all") {
        for (const std::string& each : all_architectures()) names.push_back(each);
      } else {
        names.push_back(parse_place(runtime_, name, model).target.text());
      }
    }
    return names;
  }

  // Command-line options override the line: --arch and --device-model replace either, --config replaces its config.
  void add_line(const ManifestItem& line) {
    const AnyProblem problem = runtime_.parse(line.problem);
    const std::string& config = request_.config.empty() ? line.config : request_.config;
    if (is_typed()) {
      for (const std::string& arch : architectures()) add({problem, arch, request_.device_model, config});
    } else {
      add({problem, line.arch, line.device_model, config});
    }
  }

  // Lines that differ only in what was overridden are duplicates.
  void add(PrewarmItem item) {
    const Family& family = item.problem.family();
    check_problem(family, item.problem.data());
    const Place place = parse_place(runtime_, item.arch, item.device_model);
    check_config(item.problem, place.target, place.model, item.config);
    item.arch = place.target.text();
    const std::string all = cat(item.problem.text(), "\n", item.arch, "\n", item.device_model, "\n", item.config);
    if (seen_.insert(all).second) found_.items.push_back(std::move(item));
  }

  [[noreturn]] void refuse_lines() const {
    std::string sentence = cat(text_file_name(request_.manifest), " has ", found_.bad.size(),
                               found_.bad.size() == 1 ? " bad line" : " bad lines",
                               "; nothing was compiled. --keep-going compiles the others");
    for (const BadLine& line : found_.bad) sentence += cat("\n  line ", line.line, ": ", line.reason);
    throw wrong(std::move(sentence));
  }

  Runtime& runtime_;
  const PrewarmRequest& request_;
  std::set<std::string> seen_;
  PrewarmItems found_;
};

}  // namespace

PrewarmItems prewarm_items(Runtime& runtime, const PrewarmRequest& request) {
  Items items(runtime, request);
  return request.manifest.empty() ? items.of_words() : items.of_manifest();
}

}  // namespace quern::tool
