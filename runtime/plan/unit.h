// From a family and a spec to the translation unit that the compiler reads, and to the key that names its image.
#ifndef QUERN_PLAN_UNIT_H_
#define QUERN_PLAN_UNIT_H_

#include <string>
#include <string_view>
#include <vector>

#include "cache/key.h"
#include "compiler/compiler.h"
#include "quern/family.h"

namespace quern {

// The spec as the header that templates include: namespace quern::spec.
std::string spec_header(const Spec& spec);

// A source of the family or of templates/common; null if neither has it.
const SourceFile* find_source(const Family& family, std::string_view path);

struct SourceView {
  std::string_view name;
  std::string_view text;
};

// What a unit is made of, except its spec: enough for its key, and nothing is copied. Views of the family's sources and
// of what the spec generates.
struct UnitSources {
  UnitSources() = default;
  UnitSources(const Unit& unit);  // NOLINT(google-explicit-constructor): a unit is all that and more
  SourceView main;
  std::vector<SourceView> headers;
  std::vector<std::string> prelude;
};

// The step's template and every header that it, the spec and the prelude include, found by following the quoted
// includes. Throws Error (bad_input) for an include that no source of the family or of templates/common answers, and
// for one in angle brackets in the family's own: the compiler would read what no key covers.
UnitSources find_sources(const Family& family, const Step& step, const Spec& spec, const Target& target);

// Those and the spec, as the compiler takes them.
Unit make_unit(const UnitSources& sources, const Spec& spec);
Unit make_unit(const Family& family, const Step& step, const Spec& spec, const Target& target);

// The unit as one text for people: the spec, what it generates, then the template.
std::string unit_text(const Unit& unit);

// Everything that decides the image: the family and its step, a digest of each file the unit reads, each constant, each
// option, the architecture; and the compiler's identity.
cache::Key image_key(const Family& family, const Step& step, const UnitSources& unit, const Spec& spec,
                     const Target& target, bool lineinfo, const std::string& compiler);

// The second part of that key, for the compiler's identity; "" where there is no compiler.
std::string who_text(const std::string& compiler);

}  // namespace quern

#endif  // QUERN_PLAN_UNIT_H_
