// What a family's `specialize` writes: the constants of one image, and sources that it generates.
#ifndef QUERN_SPEC_H_
#define QUERN_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern {

// One compile-time constant.
struct Constant {
  std::string type;  // "int", "bool", "type" (an alias), or an enum's name
  std::string name;
  std::string value;
};

struct GeneratedSource {
  std::string path;
  std::string text;
};

// The constants of one image, in order. Becomes namespace quern::spec of spec.cuh.
class Spec {
 public:
  void integer(const char* name, std::int64_t value) { add("long long", name, std::to_string(value)); }
  void flag(const char* name, bool value) { add("bool", name, value ? "true" : "false"); }
  void type(const char* name, std::string value) { add("type", name, std::move(value)); }
  void choice(const char* enumeration, const char* name, const std::string& value) {
    add(enumeration, name, std::string(enumeration) + "::" + value);
  }
  // A generated source that templates include as "generated/NAME". It is part of the image's key, like every other
  // source.
  void source(std::string_view name, std::string text) {
    generated_.push_back({"generated/" + std::string(name), std::move(text)});
  }
  // A header that the constants need, included before them.
  void header(const char* path) { headers_.emplace_back(path); }
  // A part of the family's source that this image needs, included after the constants. Leaving out the other parts
  // keeps the compile time short.
  void part(const char* path) { parts_.emplace_back(path); }
  const std::vector<Constant>& constants() const { return constants_; }
  const std::vector<std::string>& headers() const { return headers_; }
  const std::vector<std::string>& parts() const { return parts_; }
  const std::vector<GeneratedSource>& generated() const { return generated_; }

 private:
  void add(const char* type, const char* name, std::string value) {
    constants_.push_back({type, name, std::move(value)});
  }
  std::vector<Constant> constants_;
  std::vector<std::string> headers_;
  std::vector<std::string> parts_;
  std::vector<GeneratedSource> generated_;
};

}  // namespace quern

#endif  // QUERN_SPEC_H_
