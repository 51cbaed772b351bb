// Makes the translation unit for the compiler, and the key of its image, from a family and a spec.
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

// Finds a source of the family or of templates/common; null if neither has it.
const SourceFile* find_source(const Family& family, std::string_view path);

struct SourceView {
  std::string_view name;
  std::string_view text;
};

// The parts of a unit except its spec: enough for its key, without copies. Views of the family's sources and of the
// sources that the spec generates.
struct UnitSources {
  UnitSources() = default;
  UnitSources(const Unit& unit);  // NOLINT(google-explicit-constructor): a unit contains all of this
  SourceView main;
  std::vector<SourceView> headers;
  std::vector<std::string> prelude;
};

// The step's template and every header that it, the spec and the prelude include, found by following the quoted
// includes. Throws Error (bad_input) for an include that neither the family nor templates/common has, and for one in
// angle brackets in the family's own sources: the compiler would read a file that no key covers.
UnitSources find_sources(const Family& family, const Step& step, const Spec& spec, const Target& target);

// These sources and the spec, in the compiler's types.
Unit make_unit(const UnitSources& sources, const Spec& spec);
Unit make_unit(const Family& family, const Step& step, const Spec& spec, const Target& target);

// The unit as one text for display: the spec, the sources that it generates, then the template.
std::string unit_text(const Unit& unit);

// Everything that determines the image: the family and its step, a digest of each file the unit reads, each constant,
// each option, the architecture; and the compiler's identity.
cache::Key image_key(const Family& family, const Step& step, const UnitSources& unit, const Spec& spec,
                     const Target& target, bool lineinfo, const std::string& compiler);

// The second part of that key, for the compiler's identity; "" if there is no compiler.
std::string who_text(const std::string& compiler);

}  // namespace quern

#endif  // QUERN_PLAN_UNIT_H_
