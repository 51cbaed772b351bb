// Prints a line of a records file: record_maker MEMBER=VALUE..., with members of Record that are texts, `us`,
// `default_us` and `rival`, which may be repeated. For scripts: a line carries a check that they cannot make.
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "records/record.h"

namespace {

bool set(quern::Record& record, const std::string& name, const std::string& value) {
  const std::map<std::string, std::string*> texts = {
      {"problem", &record.problem},   {"device", &record.device},
      {"target", &record.target},     {"regime", &record.regime},
      {"config", &record.config},     {"driver", &record.driver},
      {"compiler", &record.compiler}, {"space_digest", &record.space_digest}};
  if (const auto text = texts.find(name); text != texts.end()) {
    *text->second = value;
  } else if (name == "us" || name == "default_us") {
    (name == "us" ? record.us : record.default_us) = std::atof(value.c_str());
  } else if (name == "rival") {
    record.rivals.push_back({value, 1});
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  quern::Record record;
  record.regime = "cold";
  record.us = 1;
  record.created_unix_ns = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || !set(record, word.substr(0, equals), word.substr(equals + 1))) {
      std::cerr << "record_maker: " << word << " is invalid\n";
      return 2;
    }
  }
  record.family = record.problem.substr(0, record.problem.find(' '));
  std::cout << quern::record_line(record) << "\n";
  return 0;
}
