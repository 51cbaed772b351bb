#include "commands/tune_actions.h"

#include <algorithm>
#include <set>

#include "api/runtime_state.h"
#include "base/clock.h"
#include "base/text.h"
#include "plan/problem.h"
#include "records/record_layers.h"
#include "records/records_file.h"

namespace quern::tool {
namespace {

// The records of one layer.
struct Source {
  std::string name;
  ReadRecords read;
};

ReadRecords read_file_of_records(const std::string& path, bool must_be_there) {
  ReadRecords read;
  FileStatus status;
  int error = RecordsFile(real_file_system(), path).read(read);
  if (error == 0 && must_be_there) error = error_of(real_file_system().status(path, &status));
  if (error != 0 && must_be_there)
    throw wrong(cat("--records ", path, ": ", error_text(error), "; expected a file of records"));
  if (error != 0) note(cat(path, " cannot be read: ", error_text(error)));
  return read;
}

// Highest priority first.
std::vector<Source> sources_of(Runtime& runtime, const TuneRecordArguments& arguments) {
  if (!arguments.records.empty()) return {{arguments.records, read_file_of_records(arguments.records, true)}};
  const RecordLayers::Settings& settings = runtime.state().records.settings();
  std::vector<std::string> files = settings.layers;
  if (!settings.file.empty()) files.insert(files.begin(), settings.file);
  std::vector<Source> sources;
  for (const std::string& file : files) sources.push_back({file, read_file_of_records(file, false)});
  for (const Family* family : runtime.families()) {
    const std::string name = cat("shipped with ", family->name);
    const std::string text = shipped_records(*family);
    if (!text.empty()) sources.push_back({name, parse_records(text, name)});
  }
  return sources;
}

// The filter from the command line: a family, and the fields that a record must have.
class Filter {
 public:
  Filter(const Runtime& runtime, const std::vector<std::string>& words) : runtime_(runtime) {
    if (words.empty()) return;
    wanted_.emplace(runtime.parse(join(words, " ")));
    const std::string text = join(words, " ");
    for (const std::string_view word : split(text, ' ')) {
      const std::size_t equals = word.find('=');
      if (equals != std::string_view::npos) fields_.emplace_back(trim(word.substr(0, equals)));
    }
  }

  bool operator()(const Record& record) const {
    if (!wanted_) return true;
    if (record.family != wanted_->family().name) return false;
    try {
      const AnyProblem problem = runtime_.parse(record.problem);
      return std::all_of(fields_.begin(), fields_.end(),
                         [&](const std::string& field) { return problem.get(field) == wanted_->get(field); });
    } catch (const Error&) {
      return false;  // it has fields that this quern does not know
    }
  }

 private:
  const Runtime& runtime_;
  std::optional<AnyProblem> wanted_;
  std::vector<std::string> fields_;
};

// The records that prepare would find: the first layer with the subject, and in it the last record.
std::vector<PlacedRecord> found_in(std::vector<Source>& sources, const Filter& filter) {
  std::set<std::string> seen;
  std::vector<PlacedRecord> found;
  for (Source& source : sources) {
    const std::size_t first = found.size();
    for (auto item = source.read.records.rbegin(); item != source.read.records.rend(); ++item) {
      if (!filter(item->record) || !seen.insert(subject_of(item->record)).second) continue;
      found.push_back({std::move(item->record), source.name});
    }
    std::reverse(found.begin() + static_cast<std::ptrdiff_t>(first), found.end());
  }
  return found;
}

void name_passed(const ReadRecords& read) {
  for (const auto* lines : {&read.damaged, &read.newer}) {
    for (const PassedLine& line : *lines) note(cat("skipped: ", line.text()));
  }
}

std::string age_text(std::int64_t from, std::int64_t to) {
  const std::int64_t hours = elapsed(from, to) / 3'600'000'000'000;
  return hours < 48 ? cat(hours, " h") : cat(hours / 24, " d");
}

Value percent_or_nothing(double part, double whole) {
  return part > 0 && whole > 0 ? Value(100 * part / whole, 1) : Value();
}

}  // namespace

Row record_row(const Record& record, std::int64_t now_unix_ns) {
  const double gain = record.default_us - record.us;
  Row row;
  row.add("problem", record.problem).add("device", record.device).add("target", record.target);
  row.add("regime", record.regime).add("config", record.config).add("us", record.us);
  row.add("faster_percent", record.default_us > 0 ? Value(100 * gain / record.default_us, 1) : Value());
  row.add("copy_percent", percent_or_nothing(record.copy_us, record.us));
  row.add("band_percent", Value(record.band_percent, 1)).add("measured", date_text(record.created_unix_ns));
  row.add("age", age_text(record.created_unix_ns, now_unix_ns));
  return row.add("driver", record.driver).add("compiler", record.compiler);
}

FoundRecords find_records(Runtime& runtime, const TuneRecordArguments& arguments) {
  const Filter filter(runtime, arguments.words);
  std::vector<Source> sources = sources_of(runtime, arguments);
  for (const Source& source : sources) name_passed(source.read);
  return {found_in(sources, filter), sources.size()};
}

int tune_show(Runtime& runtime, const TuneRecordArguments& arguments) {
  const FoundRecords found = find_records(runtime, arguments);
  std::vector<Row> rows;
  for (const PlacedRecord& item : found.records) {
    rows.push_back(record_row(item.record, real_file_system().now_unix_ns()));
    if (arguments.json || found.places > 1) rows.back().add("file", item.place);
  }
  print_rows("quern.tune.show/1", rows, arguments.json);
  if (rows.empty()) note("there are no such records; `quern tune FAMILY FIELD=VALUE...` makes one");
  return kDone;
}

int tune_merge(Runtime&, const TuneRecordArguments& arguments) {
  const std::string& out = arguments.words.front();
  const Merged merged = merge_records(real_file_system(), out, {arguments.words.begin() + 1, arguments.words.end()});
  for (const PassedLine& line : merged.damaged) note(cat("skipped: ", line.text()));
  print_rows("quern.tune.merge/1",
             {Row()
                  .add("file", out)
                  .add("records", merged.records)
                  .add("older", merged.older)
                  .add("newer_schema", merged.newer_schema)
                  .add("damaged", merged.damaged.size())},
             arguments.json);
  return merged.damaged.empty() ? kDone : kSomeFailed;
}

}  // namespace quern::tool
