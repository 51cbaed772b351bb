#include "records/record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <type_traits>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "quern/error.h"
#include "records/record_members.h"
#include "records/written_line.h"

namespace quern {
namespace {

constexpr std::string_view kCheckStart = ",\"check\":\"";
constexpr std::size_t kCheckBytes = kCheckStart.size() + 32 + 2;  // with the digest, its quote and the brace

// Calls visit(name, number) for each number in `value`, at any depth.
template <class T, class Visit>
void each_number(const char* name, const T& value, const Visit& visit) {
  if constexpr (std::is_arithmetic_v<T>) {
    visit(name, static_cast<double>(value));
  } else if constexpr (HasMembers<T>) {
    each_member(value, [&](auto member, const auto& inner) { each_number(member.name, inner, visit); });
  } else if constexpr (!std::is_same_v<T, std::string>) {
    for (const auto& item : value) each_number(name, item, visit);
  }
}

void check_finite(const Record& record) {
  each_number("", record, [](const char*, double number) {
    if (!std::isfinite(number))
      throw Error(Code::bad_input, Stage::tool, "a record holds a number that is not finite; measure again");
  });
}

void check_not_negative(const Record& record) {
  each_number("", record, [](std::string_view name, double number) {
    if (number < 0 && name != "created_unix_ns") throw Damage{cat(name, " is negative")};
  });
}

std::string_view before_check(std::string_view line) {
  return line.substr(0, line.size() - std::min(line.size(), kCheckBytes));
}

// The check covers the bytes before it, not their values, so any change is found.
bool check_holds(std::string_view line) {
  const std::string_view body = before_check(line);
  return !body.empty() && line.substr(body.size()) == cat(kCheckStart, hash128(cat(body, "}")).hex(), "\"}");
}

std::uint64_t schema_of(const Json& object) {
  const auto schema = object.find("quern_record");
  if (schema == object.end()) throw Damage{"it is no record of quern"};
  if (!schema->is_number_unsigned() || *schema == 0) throw Damage{"quern_record is no schema"};
  return schema->get<std::uint64_t>();
}

// The schema comes before the check: a newer one may have another check.
void read_object(std::string_view line, ParsedLine& parsed) {
  const Json object = parse_object(line);
  if (const std::uint64_t schema = schema_of(object); schema > kRecordSchema) {
    parsed.kind = ParsedLine::Kind::newer;
    parsed.why =
        cat("it is of schema ", schema, ", this quern reads up to ", kRecordSchema, "; a newer quern wrote it");
    return;
  }
  if (!check_holds(line)) throw Damage{"its check does not hold: bytes were changed or are missing"};
  read_json(object, "the record", parsed.record);
  check_not_negative(parsed.record);
  parsed.kind = ParsedLine::Kind::record;
}

}  // namespace

std::string record_line(const Record& record) {
  check_finite(record);
  Json object = {{"quern_record", kRecordSchema}};
  add_members(record, object);
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
    read_object(line, parsed);
  } catch (const Damage& damage) {
    parsed.why = damage.reason;
  }
  return parsed;
}

std::string driver_text(int version) { return cat(version / 1000, ".", version % 1000 / 10); }

std::string space_digest(const Step& step) {
  std::string text;
  for (const Parameter& parameter : step.parameters) {
    text += cat(parameter.name, parameter.compiled ? ":" : "*");
    if (parameter.applies != nullptr) text += cat("else ", parameter.otherwise, ":");
    for (const std::int32_t* value = parameter.values; *value != kNoMore; ++value) text += cat(*value, ",");
    text += '\n';
  }
  for (const Constraint& constraint : step.constraints) text += cat(constraint.sentence, "\n");
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
