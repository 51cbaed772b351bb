#include "records/record_layers.h"

#include <cerrno>

#include "base/files.h"
#include "base/text.h"

namespace quern {

RecordLayers::RecordLayers(Settings settings, const Log& log, FileSystem& files)
    : settings_(std::move(settings)), log_(log), files_(files) {
  const auto add = [this](const std::string& path, bool must_be_there) {
    layers_.emplace_back().report.path = path;
    layers_.back().must_be_there = must_be_there;
  };
  if (!settings_.file.empty()) add(settings_.file, false);
  for (const std::string& layer : settings_.layers) add(layer, true);
}

void RecordLayers::load() {
  if (loaded_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  bool all = true;
  for (Layer& layer : layers_) {
    if (layer.done) continue;
    load_file(layer);
    all = all && layer.done;
    if (!layer.done) continue;
    for (auto& [family, known] : families_) outdated_.push_back(std::move(known));
    families_.clear();
  }
  loaded_.store(all, std::memory_order_release);
}

void RecordLayers::load_file(Layer& layer) {
  const std::string& path = layer.report.path;
  FileStatus status;
  int error = RecordsFile(files_, path).read(layer.read);
  if (error == 0 && layer.must_be_there) error = error_of(uninterrupted([&] { return files_.status(path, &status); }));
  layer.done = !may_pass(error);
  const std::string why_not = error == 0 ? "" : error_text(error);
  if (!why_not.empty() && why_not != layer.report.unusable)
    log_.warning(cat("records: ", path, " cannot be read: ", why_not, layer.done ? "" : "; will be retried"));
  layer.report.unusable = why_not;
  layer.report.records = layer.read.records.size();
  layer.report.passed = layer.read.damaged;
  layer.report.passed.insert(layer.report.passed.end(), layer.read.newer.begin(), layer.read.newer.end());
  report_passed(layer.read, log_);
}

// A later record wins, so the layer with the highest priority is added last.
std::unique_ptr<RecordLayers::Known> RecordLayers::make(const Family& family) {
  auto known = std::make_unique<Known>();
  ReadRecords shipped = parse_records(shipped_records(family), cat("shipped with ", family.name));
  report_passed(shipped, log_);
  known->shipped = std::move(shipped.records);
  std::vector<const Record*> records;
  const auto add = [&](const std::vector<ReadRecord>& from) {
    for (const ReadRecord& item : from) {
      if (item.record.family == family.name) records.push_back(&item.record);
    }
  };
  add(known->shipped);
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) add(layer->read.records);
  known->records = std::make_unique<const FamilyRecords>(family, records, log_);
  return known;
}

const FamilyRecords& RecordLayers::of(const Family& family) {
  load();
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Known>& known = families_[&family];
  if (known == nullptr) known = make(family);
  return *known->records;
}

std::optional<FoundRecord> RecordLayers::find(const Family& family, const RecordQuery& query) {
  if (settings_.tuning == Tuning::off) return std::nullopt;
  return of(family).find(query);
}

std::vector<FoundRecord> RecordLayers::related(const Family& family, const RecordQuery& query, std::size_t most) {
  return of(family).related(query, most);
}

std::vector<std::string> RecordLayers::devices(const Family& family, const Target& target) {
  if (settings_.tuning == Tuning::off) return {};
  return of(family).devices(target);
}

std::size_t RecordLayers::count(const Family& family) {
  return settings_.tuning == Tuning::off ? 0 : of(family).size();
}

std::vector<RecordLayer> RecordLayers::layers() {
  load();
  const std::lock_guard lock(mutex_);
  std::vector<RecordLayer> reports;
  for (const Layer& layer : layers_) reports.push_back(layer.report);
  return reports;
}

std::string shipped_records(const Family& family) {
  const std::string path = cat(family.name, "/records.jsonl");
  std::string text;
  for (const SourceFile& source : family.sources) {
    if (path == source.path) text += source.text;
  }
  return text;
}

}  // namespace quern
