#include "tuner/journal/journal.h"

#include "base/text.h"
#include "quern/error.h"
#include "tuner/journal/journal_members.h"

namespace quern {
namespace {

void check(const SweepTrial& trial) {
  if (trial.config.empty()) throw Damage{"config is empty"};
  if (!trial.failure && !(trial.us > 0)) throw Damage{"it has neither a failure nor a time above 0"};
}

SweepHead read_head(std::string_view line) {
  const Json json = parse_object(line);
  std::int64_t schema = 0;
  SweepHead head;
  read_required(json, "quern_sweep", schema);
  if (schema > kJournalSchema)
    throw Damage{cat("it has schema ", schema, " and this quern reads up to ", kJournalSchema, "; use a newer quern")};
  if (schema < 1) throw Damage{cat("there is no schema ", schema)};
  read_json(json, "the head", head);
  return head;
}

void read_line(std::string_view line, Journal& journal) {
  const Json json = parse_object(line);
  if (json.contains("config")) {
    SweepTrial trial;
    read_json(json, "the line", trial);
    check(trial);
    journal.trials.push_back(std::move(trial));
  } else if (json.contains("finalists")) {
    std::vector<SweepFinalist> finalists;
    read_required(json, "finalists", finalists);
    journal.finalists = std::move(finalists);
  } else if (json.contains("result")) {
    SweepResult result;
    read_required(json, "result", result);
    journal.result = std::move(result);
  } else if (json.contains("quern_sweep")) {
    throw Damage{"it is a second head; a file holds one sweep"};
  } else {
    throw Damage{"it has none of config, finalists and result"};
  }
}

Error bad(std::string sentence) { return {Code::bad_input, Stage::tool, std::move(sentence)}; }

std::string kind_names() {
  std::vector<std::string> names;
  for (const FailureKindRow& row : kFailureKinds) names.emplace_back(row.name);
  return join(names, ", ");
}

// `text` holds complete lines only.
Journal read_lines(std::string_view text, Damaged damaged) {
  Journal journal;
  bool has_head = false;
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    try {
      if (has_head) {
        read_line(line, journal);
      } else {
        journal.head = read_head(line);
        has_head = true;
      }
    } catch (const Damage& damage) {
      if (!has_head) throw bad(cat("line ", number, " is not the header of a sweep: ", damage.reason));
      if (damaged == Damaged::refuse) throw bad(cat("line ", number, " is damaged: ", damage.reason));
      journal.skipped.push_back({number, damage.reason});
    }
  }
  if (!has_head) throw bad("there is no sweep in it: a sweep's file starts with a line {\"quern_sweep\":1,...}");
  return journal;
}

// Where the last whole line ends.
std::size_t whole_lines(std::string_view text) {
  const std::size_t newline = text.rfind('\n');
  return newline == std::string_view::npos ? 0 : newline + 1;
}

}  // namespace

std::optional<FailureKind> failure_kind(std::string_view name) {
  for (int i = 0; i < kFailureKindCount; ++i) {
    if (name == kFailureKinds[i].name) return static_cast<FailureKind>(i);
  }
  return std::nullopt;
}

Json json_of(FailureKind kind) { return name(kind); }

void read_json(const Json& json, const std::string& name, FailureKind& kind) {
  std::string text;
  read_json(json, name, text);
  const std::optional<FailureKind> known = failure_kind(text);
  if (!known) throw Damage{cat(name, " is \"", text, "\"; it may be ", kind_names())};
  kind = *known;
}

std::string serialize(const SweepHead& head) {
  Json json = {{"quern_sweep", kJournalSchema}};
  add_members(head, json);
  return line_of(json);
}
std::string serialize(const SweepTrial& trial) { return line_of(json_of(trial)); }
std::string serialize(const std::vector<SweepFinalist>& finalists) {
  return line_of({{"finalists", json_of(finalists)}});
}
std::string serialize(const SweepResult& result) { return line_of({{"result", json_of(result)}}); }

Journal read_journal(std::string_view text, Damaged damaged) {
  const std::size_t whole = whole_lines(text);
  Journal journal = read_lines(text.substr(0, whole), damaged);
  journal.unfinished = whole < text.size();
  return journal;
}

Journal read_journal_of(const std::string& path, std::string_view text, Damaged damaged) {
  try {
    return read_journal(text, damaged);
  } catch (const Error& error) {
    throw bad(cat(path, ": ", error.sentence));
  }
}

Journal read_journal_file(const std::string& path, Damaged damaged) {
  const auto text = read_file(path);
  if (!text) throw bad(cat("cannot read ", path, "; is it the file of a sweep?"));
  return read_journal_of(path, *text, damaged);
}

}  // namespace quern
