// Structs as objects of JSON, from one list of members a struct that serves both ways:
//
//   template <class Visit>
//   void members(Visit& v, Round& r) { v.required("a", r.a); v.plain("b", r.b); v.optional("why", r.why); }
//
// `required` is always there, `plain` is always written, and `optional` is written where it says something. Unknown
// members are passed over.
#ifndef QUERN_TUNER_JOURNAL_JSON_MEMBERS_H_
#define QUERN_TUNER_JOURNAL_JSON_MEMBERS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text.h"

namespace quern {

using Json = nlohmann::ordered_json;

// What is wrong with a line; caught where its place is known.
struct Damage {
  std::string reason;
};

// ---- Writing

template <class T>
Json to_json(T value) requires std::is_arithmetic_v<T> {
  return value;
}
inline Json to_json(const std::string& text) { return text; }
template <class T>
Json to_json(const std::vector<T>& values);
template <class T>
Json to_json(const T& object) requires std::is_aggregate_v<T>;

class JsonWriting {
 public:
  Json object = Json::object();
  template <class T>
  void required(const char* name, const T& value) {
    object[name] = to_json(value);
  }
  template <class T>
  void plain(const char* name, const T& value) {
    object[name] = to_json(value);
  }
  template <class T>
  void optional(const char* name, const T& value) {
    if (value != T{}) object[name] = to_json(value);
  }
};

template <class T>
Json to_json(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(to_json(value));
  return array;
}

template <class T>
Json to_json(const T& object) requires std::is_aggregate_v<T> {
  JsonWriting writing;
  T copy = object;  // the lists of members serve reading as well
  members(writing, copy);
  return std::move(writing.object);
}

inline std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// ---- Reading

inline void from_json(const Json& json, const std::string& name, std::string& text) {
  if (!json.is_string()) throw Damage{cat(name, " is no text")};
  text = json.get<std::string>();
}

inline void from_json(const Json& json, const std::string& name, bool& value) {
  if (!json.is_boolean()) throw Damage{cat(name, " is neither true nor false")};
  value = json.get<bool>();
}

inline void from_json(const Json& json, const std::string& name, double& value) {
  if (!json.is_number()) throw Damage{cat(name, " is no number")};
  value = json.get<double>();
}

template <class T>
void from_json(const Json& json, const std::string& name, T& value) requires std::is_integral_v<T> {
  if (!json.is_number_integer()) throw Damage{cat(name, " is no whole number")};
  const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                              : std::in_range<T>(json.get<std::int64_t>());
  if (!fits) throw Damage{cat(name, " is out of range")};
  value = json.get<T>();
}

template <class T>
void from_json(const Json& json, const std::string& name, std::vector<T>& values);
template <class T>
void from_json(const Json& json, const std::string& name, T& object) requires std::is_aggregate_v<T>;

class JsonReading {
 public:
  explicit JsonReading(const Json& object) : object_(object) {}
  template <class T>
  void required(const char* name, T& value) {
    if (!object_.contains(name)) throw Damage{cat(name, " is missing")};
    from_json(object_[name], name, value);
  }
  template <class T>
  void plain(const char* name, T& value) {
    if (object_.contains(name)) from_json(object_[name], name, value);
  }
  template <class T>
  void optional(const char* name, T& value) {
    plain(name, value);
  }

 private:
  const Json& object_;
};

template <class T>
void from_json(const Json& json, const std::string& name, std::vector<T>& values) {
  if (!json.is_array()) throw Damage{cat(name, " is no list")};
  values.clear();
  for (const Json& value : json) from_json(value, name, values.emplace_back());
}

template <class T>
void from_json(const Json& json, const std::string& name, T& object) requires std::is_aggregate_v<T> {
  if (!json.is_object()) throw Damage{cat(name, " is no object")};
  JsonReading reading(json);
  members(reading, object);
}

// Throws Damage unless it is one object.
inline Json parse_line(std::string_view line) {
  try {
    Json json = Json::parse(line);
    if (!json.is_object()) throw Damage{"it is no JSON object"};
    return json;
  } catch (const Json::parse_error& error) {
    throw Damage{cat("it is no JSON: wrong at byte ", error.byte)};
  } catch (const Json::out_of_range&) {
    throw Damage{"it has a number that is too large"};
  }
}

}  // namespace quern

#endif  // QUERN_TUNER_JOURNAL_JSON_MEMBERS_H_
