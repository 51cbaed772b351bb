// Holds docs/json.md to what the command prints. Usage: quern_json_page PAGE LINES [--all]: each line of the file LINES
// must have the members that the page has for its schema, of the types that it says, and no others. With --all every
// schema of the page must be among them, but for those that need a GPU. Prints what is wrong; exits 1 if anything is.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace {

using Json = nlohmann::ordered_json;

struct Member {
  std::string name;  // "layers[].bytes"
  std::string type;  // "integer or null; may be absent"
};

struct Schema {
  std::vector<Member> members;
  bool needs_gpu = false;
};

using Page = std::map<std::string, Schema>;

std::string unquoted(std::string_view cell) {
  std::string text(quern::trim(cell));
  text.erase(std::remove(text.begin(), text.end(), '`'), text.end());
  return text;
}

// Sections "## `quern.list/1`", tables "| `member` | type | unit | meaning |". The members of an object are rows below
// it.
Page read_page(const std::string& path) {
  std::ifstream file(path);
  Page page;
  Schema* schema = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("## ", 0) == 0)
      schema = line.rfind("## `quern.", 0) == 0 ? &page[unquoted(line.substr(3))] : nullptr;
    if (schema == nullptr) continue;
    if (line.find("Needs a GPU.") != std::string::npos) schema->needs_gpu = true;
    const std::vector<std::string_view> cells = quern::split(line, '|');
    if (cells.size() == 5 && line.rfind("| `", 0) == 0)
      schema->members.push_back({unquoted(cells[1]), unquoted(cells[2])});
  }
  return page;
}

bool is_list_of(const Json& value, bool (Json::*is)() const noexcept) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [&](const Json& each) { return (each.*is)(); });
}

bool is_of(const Json& value, std::string_view type) {
  if (type == "text") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "null") return value.is_null();
  if (type == "object") return value.is_object();
  if (type == "list of text") return is_list_of(value, &Json::is_string);
  return type == "list of objects" && is_list_of(value, &Json::is_object);
}

class Check {
 public:
  Check(const Schema& schema, const std::string& name) : schema_(schema), name_(name) {}

  // `prefix`: of the members of `object`, "layers[].".
  void object(const Json& object, const std::string& prefix) {
    for (const Member& member : schema_.members) {
      if (!is_child(member.name, prefix)) continue;
      const std::string own = member.name.substr(prefix.size());
      const bool may_miss = own == "*" || member.type.find("may be absent") != std::string::npos;
      if (!may_miss && !object.contains(own)) complain(member.name, "is on the page and not printed");
    }
    for (const auto& [own, value] : object.items()) one(prefix + own, prefix + "*", value);
  }
  bool bad() const { return bad_; }

 private:
  static bool is_child(const std::string& name, const std::string& prefix) {
    return name.rfind(prefix, 0) == 0 && name.find_first_of(".[", prefix.size()) == std::string::npos;
  }

  const Member* find(const std::string& name) const {
    for (const Member& member : schema_.members) {
      if (member.name == name) return &member;
    }
    return nullptr;
  }

  // `any`: stands for members whose names are data.
  void one(const std::string& name, const std::string& any, const Json& value) {
    const Member* const member = find(name) != nullptr ? find(name) : find(any);
    if (member == nullptr) return complain(name, "is printed and not on the page");
    std::string types = member->type.substr(0, member->type.find(';'));
    bool fits = false;
    for (std::size_t at = 0; at != std::string::npos && !fits;) {
      const std::size_t end = types.find(" or ", at);
      fits = is_of(value, quern::trim(std::string_view(types).substr(at, end - at)));
      at = end == std::string::npos ? end : end + 4;
    }
    if (!fits) complain(name, quern::cat("is not ", types, ": ", value.dump()));
    if (value.is_object()) object(value, name + ".");
    if (is_list_of(value, &Json::is_object)) {
      for (const Json& each : value) object(each, name + "[].");
    }
  }

  void complain(const std::string& member, const std::string& what) {
    bad_ = true;
    std::cout << name_ << ": " << member << " " << what << "\n";
  }

  const Schema& schema_;
  const std::string& name_;
  bool bad_ = false;
};

// The name of the line's schema; "" if it is not on the page.
std::string check_line(const std::string& line, const Page& page) {
  const Json object = Json::parse(line);
  const std::string name = object.begin().key() == "schema" ? object.begin()->get<std::string>() : "";
  const auto schema = page.find(name);
  if (schema == page.end()) {
    std::cout << "the page has no schema of " << line.substr(0, 100) << "\n";
    return "";
  }
  Json rest = object;
  rest.erase("schema");
  Check check(schema->second, name);
  check.object(rest, "");
  return check.bad() ? "" : name;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const Page page = read_page(argv[1]);
  std::ifstream lines(argv[2]);
  std::set<std::string> seen;
  bool good = !page.empty();
  for (std::string line; std::getline(lines, line);) {
    const std::string name = check_line(line, page);
    good = good && !name.empty();
    seen.insert(name);
  }
  for (const auto& [name, schema] : page) {
    if (argc == 3 || schema.needs_gpu || seen.count(name) != 0) continue;
    good = false;
    std::cout << name << " is on the page, and no command printed it\n";
  }
  return good ? 0 : 1;
}
