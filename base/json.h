// JSON of numbers, texts, lists, and structs that have a table of members (base/members.h).
#ifndef QUERN_BASE_JSON_H_
#define QUERN_BASE_JSON_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/members.h"
#include "base/text.h"

namespace quern {

using Json = nlohmann::ordered_json;

// What is wrong with a text or a value that was read. The caller adds where it was.
struct Damage {
  std::string reason;
};

// Throws Damage unless `text` is one JSON object.
Json parse_object(std::string_view text);
// In one line. Bytes that are not UTF-8 become U+FFFD, numbers that are not finite null.
std::string line_of(const Json& json);

// ---- Writing. Another type needs an overload of json_of in its namespace.

template <HasMembers T>
void add_members(const T& object, Json& json);

template <class T>
Json json_of(const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (HasMembers<T>) {
    Json json = Json::object();
    add_members(value, json);
    return json;
  } else {
    Json array = Json::array();
    for (const auto& item : value) array.push_back(json_of(item));
    return array;
  }
}
template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : Json();
}

template <class T>
bool is_default(const T& value) {
  return value == T{};
}
template <class T>
bool is_default(const std::optional<T>& value) {
  return !value;
}

// Adds the members of `object` to `json`.
template <HasMembers T>
void add_members(const T& object, Json& json) {
  each_member(object, [&](auto member, const auto& value) {
    if constexpr (member.presence == Presence::optional) {
      if (is_default(value)) return;
    }
    json[member.name] = json_of(value);
  });
}

// ---- Reading. Throws Damage with the name. Unknown members are passed over. Another type needs an overload.

void read_json(const Json& json, const std::string& name, bool& value);
void read_json(const Json& json, const std::string& name, double& value);
void read_json(const Json& json, const std::string& name, std::string& text);
template <class T>
void read_json(const Json& json, const std::string& name, std::optional<T>& value);
template <class T>
void read_json(const Json& json, const std::string& name, std::vector<T>& values);
template <HasMembers T>
void read_json(const Json& json, const std::string& name, T& object);

template <class T>
void read_json(const Json& json, const std::string& name, T& value) requires std::is_integral_v<T> {
  if (!json.is_number_integer()) throw Damage{cat(name, " is not an integer")};
  const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                              : std::in_range<T>(json.get<std::int64_t>());
  if (!fits) throw Damage{cat(name, " is out of range")};
  value = json.get<T>();
}

// Of the object `json`. False where it has no such member.
template <class T>
bool read_member(const Json& json, const char* name, T& value) {
  const auto found = json.find(name);
  if (found != json.end()) read_json(*found, name, value);
  return found != json.end();
}

template <class T>
void read_required(const Json& json, const char* name, T& value) {
  if (!read_member(json, name, value)) throw Damage{cat(name, " is missing")};
}

template <class T>
void read_json(const Json& json, const std::string& name, std::optional<T>& value) {
  read_json(json, name, value.emplace());
}

template <class T>
void read_json(const Json& json, const std::string& name, std::vector<T>& values) {
  if (!json.is_array()) throw Damage{cat(name, " is not an array")};
  values.clear();
  for (const Json& value : json) {
    const std::string item = cat(name, "[", values.size(), "]");
    read_json(value, item, values.emplace_back());
  }
}

template <HasMembers T>
void read_json(const Json& json, const std::string& name, T& object) {
  if (!json.is_object()) throw Damage{cat(name, " is not an object")};
  each_member(object, [&](auto member, auto& value) {
    if constexpr (member.presence == Presence::required) {
      read_required(json, member.name, value);
    } else {
      read_member(json, member.name, value);
    }
  });
}

}  // namespace quern

#endif  // QUERN_BASE_JSON_H_
