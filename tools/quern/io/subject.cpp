#include "io/subject.h"

#include <algorithm>

#include "api/runtime_state.h"
#include "base/text.h"
#include "io/command.h"
#include "plan/config.h"
#include "plan/problem.h"
#include "plan/variants.h"

namespace quern::tool {
namespace {

// Whether a word as the shell gives it is a text field with its whole value, whatever blanks are in it.
bool is_text(const Family* family, const std::string& word) {
  const Field* const field = family == nullptr ? nullptr : find_field(*family, word.substr(0, word.find('=')));
  return field != nullptr && field->kind == FieldKind::text && word.compare(word.find('='), 2, "=\"") != 0;
}

// All words, split at blanks.
std::vector<std::string> single_words(const Runtime& runtime, const std::vector<std::string>& words) {
  std::vector<std::string> single;
  const Family* family = nullptr;
  for (const std::string& word : words) {
    if (is_text(family, word)) {
      single.push_back(word);
      continue;
    }
    for (std::string& part : split_words(word)) single.push_back(std::move(part));
    if (family == nullptr && !single.empty()) family = &runtime.family(single.front());
  }
  return single;
}

bool is_scalar(const Family& family, std::string_view name) {
  return std::any_of(family.scalars.begin(), family.scalars.end(), [&](const Scalar& s) { return name == s.name; });
}

void set_word(Subject& subject, const std::string& word) {
  const Family& family = subject.family();
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos)
    throw wrong(cat("expected FIELD=VALUE, got \"", word, "\"; `quern describe ", family.name, "` shows the fields"));
  const std::string name = word.substr(0, equals);
  if (!subject.typed.insert(name).second) throw wrong(cat(name, " is given twice; give it once"));
  if (is_scalar(family, name)) {
    set_scalar(subject, word);
  } else {
    subject.problem.set(name, word.substr(equals + 1));
  }
}

Target target_of_arch(Runtime& runtime, const std::string& arch) {
  if (lower(arch) != "native") return parse_target(arch);
  return describe_device(*runtime.state().driver(), 0).target;
}

}  // namespace

Subject read_subject(const Runtime& runtime, const std::vector<std::string>& words) {
  const std::vector<std::string> all = single_words(runtime, words);
  if (all.empty()) throw wrong("a family is missing; `quern list` shows the families");
  Subject subject(runtime.family(all.front()));
  for (std::size_t i = 1; i < all.size(); ++i) set_word(subject, all[i]);
  return subject;
}

Subject parse_subject(const Runtime& runtime, const std::vector<std::string>& words) {
  Subject subject = read_subject(runtime, words);
  check_subject(subject);
  return subject;
}

void check_subject(const Subject& subject) {
  const Family& family = subject.family();
  check_problem(family, subject.problem.data());
  for (const Scalar& scalar : family.scalars) {
    if (subject.typed.count(scalar.name) == 0 || scalar.used == nullptr || scalar.used(subject.problem.data()))
      continue;
    throw problem_error(family, subject.problem.data(),
                        cat(scalar.name, " is not used by this problem: it is ", scalar.sentence));
  }
}

// A name that a program declares no number, and reads from memory then.
static void refuse_input(const Subject& subject, const std::string& name) {
  const void* const problem = subject.problem.data();
  for (const Operand& operand : subject.family().operands) {
    for (int i = 0; operand.name_of_entry != nullptr && i < operand.count(problem); ++i) {
      if (operand.role == Role::input && operand.name_of_entry(problem, i) == name)
        throw wrong(cat("--set ", name, ": this program reads ", name, " from memory; write \"", name,
                        ": number;\" in expr where it is to be a number"));
    }
  }
}

// A number's name in its family, from what the problem itself calls it.
static std::string scalar_name(const Subject& subject, const std::string& name) {
  const Table<Scalar>& scalars = subject.family().scalars;
  for (const Scalar& scalar : scalars) {
    if (scalar.name_in == nullptr || scalar.name_in(subject.problem.data()) != name || name == scalar.name) continue;
    for (const Scalar& other : scalars) {
      if (name == other.name)
        throw wrong(cat("--set ", name, ": the problem calls ", scalar.name, " so; write ", scalar.name, " for it"));
    }
    return scalar.name;
  }
  refuse_input(subject, name);
  return name;
}

void set_scalar(Subject& subject, std::string_view setting) {
  const auto [given, value] = split_setting(setting, "NAME=NUMBER");
  const std::string name = scalar_name(subject, given);
  subject.scalars.parse_scalar(name, value);
  subject.typed.insert(name);
}

std::pair<std::string, std::string> split_setting(std::string_view text, std::string_view form) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    throw wrong(cat("expected ", form, ", got \"", text, "\""));
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::vector<const Field*> open_extents(const AnyProblem& problem) {
  return quern::open_extents(problem.family(), problem.data());
}

Place parse_place(Runtime& runtime, const std::string& arch, const std::string& device_model) {
  if (device_model.empty()) {
    const Target target = target_of_arch(runtime, arch.empty() ? "sm_90a" : arch);
    return {target, generic_model(target.arch)};
  }
  const DeviceModel& model = model_by_name(device_model);
  const Target target = arch.empty() ? target_of(model.arch) : target_of_arch(runtime, arch);
  if (target.arch != model.arch)
    throw wrong(cat("--device-model \"", device_model, "\" is an sm_", model.arch, ", not an ", target.text()));
  return {target, model};
}

void check_config(const AnyProblem& problem, const Target& target, const DeviceModel& model,
                  const std::string& config) {
  for (const Step* step : steps_of(problem.family(), problem.data()))
    variants_of(problem.family(), *step, problem.data(), target, model, config);
}

void check_config(const Subject& subject, const std::string& config) {
  if (config.empty()) return;
  std::optional<Error> refusal;
  for (const DeviceModel& model : device_models()) {
    try {
      check_config(subject.problem, target_of(model.arch), model, config);
      return;
    } catch (const Error& error) {
      refusal.emplace(error);
    }
  }
  throw *refusal;
}

std::string config_option(const Step& step, const void* problem, const Config& config) {
  std::string text = config_text(step, problem, config);
  std::replace(text.begin(), text.end(), ' ', ',');
  return text;
}

ImageOrigin worst_origin(const std::vector<ImageInfo>& images) {
  ImageOrigin worst = ImageOrigin::memory;
  for (const ImageInfo& image : images) worst = std::max(worst, image.origin);
  return worst;
}

}  // namespace quern::tool
