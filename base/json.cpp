#include "base/json.h"

namespace quern {

Json parse_object(std::string_view text) {
  try {
    Json json = Json::parse(text);
    if (!json.is_object()) throw Damage{"it is not a JSON object"};
    return json;
  } catch (const Json::parse_error& error) {
    throw Damage{cat("invalid JSON at byte ", error.byte)};
  } catch (const Json::out_of_range&) {
    throw Damage{"it has a number that is too large"};
  }
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void read_json(const Json& json, const std::string& name, bool& value) {
  if (!json.is_boolean()) throw Damage{cat(name, " is neither true nor false")};
  value = json.get<bool>();
}

void read_json(const Json& json, const std::string& name, double& value) {
  if (!json.is_number()) throw Damage{cat(name, " is not a number")};
  value = json.get<double>();
}

void read_json(const Json& json, const std::string& name, std::string& text) {
  if (!json.is_string()) throw Damage{cat(name, " is not a string")};
  text = json.get<std::string>();
}

}  // namespace quern
