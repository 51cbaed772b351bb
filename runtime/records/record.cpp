#include "records/record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "quern/error.h"
#include "records/record_members.h"
#include "records/written_line.h"

namespace quern {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCheckStart = ",\"check\":\"";
constexpr std::size_t kCheckBytes = kCheckStart.size() + 32 + 2;  // with the digest, its quote and the brace

// ---- writing

template <class T>
Json to_json(const T& value) {
  return value;
}
Json to_json(double value) {
  if (!std::isfinite(value))
    throw Error(Code::bad_input, Stage::tool, "a record holds a number that is not finite; measure again");
  return value;
}
Json to_json(const ClockRates& clocks) {
  Json object = Json::object();
  visit_clocks(clocks, [&](const char* name, const auto& member, bool) { object[name] = to_json(member); });
  return object;
}
Json to_json(const std::vector<Rival>& rivals) {
  Json array = Json::array();
  for (const Rival& rival : rivals) {
    Json object = Json::object();
    visit_rival(rival, [&](const char* name, const auto& member, bool) { object[name] = to_json(member); });
    array.push_back(std::move(object));
  }
  return array;
}

// ---- reading

// What is wrong with a line, in a few words.
struct Wrong {
  std::string why;
};

template <class T>
void take(const Json& value, const char* name, T& member);

template <class T>
void take_member(const Json& object, const char* name, T& member, bool required) {
  const auto found = object.find(name);
  if (found != object.end()) return take(*found, name, member);
  if (required) throw Wrong{cat(name, " is missing")};
}

void take_text(const Json& value, const char* name, std::string& member) {
  if (!value.is_string()) throw Wrong{cat(name, " is no text")};
  member = value.get<std::string>();
}
void take_number(const Json& value, const char* name, double& member) {
  if (!value.is_number()) throw Wrong{cat(name, " is no number")};
  member = value.get<double>();
  if (!(member >= 0 && member <= std::numeric_limits<double>::max()))
    throw Wrong{cat(name, " is negative or not finite")};
}
template <class Integer>
void take_integer(const Json& value, const char* name, Integer& member) {
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<Integer>::max())
                        : std::is_same_v<Integer, std::int64_t> && value.is_number_integer();
  if (!fits) throw Wrong{cat(name, " is no whole number, or out of range")};
  member = value.get<Integer>();
}
void take_clocks(const Json& value, const char* name, ClockRates& member) {
  if (!value.is_object()) throw Wrong{cat(name, " is no object")};
  visit_clocks(member, [&](const char* inner, auto& to, bool required) { take_member(value, inner, to, required); });
}
void take_rivals(const Json& value, const char* name, std::vector<Rival>& member) {
  if (!value.is_array()) throw Wrong{cat(name, " is no list")};
  for (const Json& row : value) {
    if (!row.is_object()) throw Wrong{cat(name, " holds what is no object")};
    Rival& rival = member.emplace_back();
    visit_rival(rival, [&](const char* inner, auto& to, bool required) { take_member(row, inner, to, required); });
  }
}

template <class T>
void take(const Json& value, const char* name, T& member) {
  if constexpr (std::is_same_v<T, std::string>) {
    take_text(value, name, member);
  } else if constexpr (std::is_same_v<T, double>) {
    take_number(value, name, member);
  } else if constexpr (std::is_same_v<T, ClockRates>) {
    take_clocks(value, name, member);
  } else if constexpr (std::is_same_v<T, std::vector<Rival>>) {
    take_rivals(value, name, member);
  } else {
    take_integer(value, name, member);
  }
}

std::string_view before_check(std::string_view line) {
  return line.substr(0, line.size() - std::min(line.size(), kCheckBytes));
}

// The check is over the bytes before it, not over what they mean: nothing that was changed comes through.
bool check_holds(std::string_view line) {
  const std::string_view body = before_check(line);
  return !body.empty() && line.substr(body.size()) == cat(kCheckStart, hash128(cat(body, "}")).hex(), "\"}");
}

int schema_of(const Json& object) {
  const auto schema = object.is_object() ? object.find("quern_record") : object.end();
  if (!object.is_object() || schema == object.end()) throw Wrong{"it is no record of quern"};
  if (!schema->is_number_unsigned() || schema->get<std::uint64_t>() == 0) throw Wrong{"quern_record is no schema"};
  return schema->get<std::uint64_t>() > 1'000'000 ? 1'000'000 : schema->get<int>();
}

Json parse_object(std::string_view line) {
  try {
    return Json::parse(line);
  } catch (const Json::parse_error& error) {
    throw Wrong{cat("it is no JSON: wrong at byte ", error.byte)};
  } catch (const Json::exception&) {
    throw Wrong{"it has a number that is too large"};
  }
}

// A newer schema may end otherwise, so it is named before the check is looked at.
void parse_json(std::string_view line, ParsedLine& parsed) {
  const Json object = parse_object(line);
  if (const int schema = schema_of(object); schema > kRecordSchema) {
    parsed.kind = ParsedLine::Kind::newer;
    parsed.why =
        cat("it is of schema ", schema, ", this quern reads up to ", kRecordSchema, "; a newer quern wrote it");
    return;
  }
  if (!check_holds(line)) throw Wrong{"its check does not hold: bytes were changed or are missing"};
  visit_members(parsed.record,
                [&](const char* name, auto& member, bool required) { take_member(object, name, member, required); });
  parsed.kind = ParsedLine::Kind::record;
}

}  // namespace

std::string record_line(const Record& record) {
  Json object = {{"quern_record", kRecordSchema}};
  visit_members(record, [&](const char* name, const auto& member, bool) { object[name] = to_json(member); });
  try {
    std::string line = object.dump(-1, ' ', true);
    const std::string check = hash128(line).hex();
    line.pop_back();
    return cat(line, kCheckStart, check, "\"}");
  } catch (const Json::type_error&) {
    throw Error(Code::bad_input, Stage::tool, "a record holds a text that is not UTF-8");
  }
}

ParsedLine parse_record(std::string_view line) {
  ParsedLine parsed;
  if (check_holds(line) && read_written_line(before_check(line), parsed.record)) {
    parsed.kind = ParsedLine::Kind::record;
    return parsed;
  }
  parsed.record = {};
  try {
    parse_json(line, parsed);
  } catch (const Wrong& wrong) {
    parsed.why = wrong.why;
  }
  return parsed;
}

std::string driver_text(int version) { return cat(version / 1000, ".", version % 1000 / 10); }

std::string space_digest(const Family& family) {
  std::string text;
  for (const Parameter& parameter : family.parameters) {
    text += cat(parameter.name, parameter.compiled ? ":" : "*");
    for (const std::int32_t* value = parameter.values; *value != kNoMore; ++value) text += cat(*value, ",");
    text += "\n";
  }
  for (const Constraint& constraint : family.constraints) text += cat(constraint.sentence, "\n");
  return hash128(text).hex();
}

std::string date_text(std::int64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc)};
}

}  // namespace quern
