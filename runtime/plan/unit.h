// From a family and a spec to the translation unit that the compiler reads, and to the key that names its image.
#ifndef QUERN_PLAN_UNIT_H_
#define QUERN_PLAN_UNIT_H_

#include <string>

#include "cache/key.h"
#include "compiler/compiler.h"
#include "quern/family.h"

namespace quern {

// The spec as the header that templates include: namespace quern::spec.
std::string spec_header(const Spec& spec);

// The template, its spec, and every header that they include, found by following the quoted includes. Throws Error
// (bad_input) for an include that no source of the family or of templates/common answers.
Unit make_unit(const Family& family, const Spec& spec, const Target& target);

// The unit as one text for people: the spec, then the template.
std::string unit_text(const Unit& unit);

// "quern_gather": what profilers show.
std::string kernel_name(const Family& family);

// Everything that decides the image: the family, a digest of each file the unit reads, each constant, each option, the
// architecture; and the compiler's identity.
cache::Key image_key(const Family& family, const Unit& unit, const Spec& spec, const Target& target, bool lineinfo,
                     const std::string& compiler);

}  // namespace quern

#endif  // QUERN_PLAN_UNIT_H_
