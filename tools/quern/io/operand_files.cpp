#include "io/operand_files.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "io/command.h"
#include "io/file_fields.h"
#include "io/named_file.h"
#include "io/output.h"
#include "io/subject.h"
#include "plan/problem.h"

namespace quern::tool {
namespace {

constexpr std::int64_t kMadeUp = 1024;

// The entry of a list that the problem itself calls so.
std::optional<OperandEntry> find_entry(const AnyProblem& problem, const std::string& name, bool input) {
  const Table<Operand>& operands = problem.family().operands;
  for (int i = 0; i < operands.count; ++i) {
    const Operand& operand = operands[i];
    if (operand.name_of_entry == nullptr || !is_file_role(operand.role, input)) continue;
    for (int entry = 0; entry < entries_of(operand, problem.data()); ++entry) {
      if (operand.name_of_entry(problem.data(), entry) == name) return OperandEntry{i, entry};
    }
  }
  return std::nullopt;
}

// What the problem has of an operand: the problem's own names for entries, or one entry of a list that has none.
void add_names(const AnyProblem& problem, const Operand& operand, std::vector<std::string>& names) {
  const int entries = entries_of(operand, problem.data());
  if (entries == 0 || operand.layout(problem.data()).dtype == DType::none) return;
  if (operand.name_of_entry == nullptr) names.push_back(cat(operand.name, operand.count != nullptr ? ".0" : ""));
  for (int i = 0; i < entries && operand.name_of_entry != nullptr; ++i)
    names.push_back(operand.name_of_entry(problem.data(), i));
}

// "out", or "source.2" of a list.
OperandEntry find_operand(const AnyProblem& problem, const std::string& name, bool input) {
  if (const auto entry = find_entry(problem, name, input)) return *entry;
  const Family& family = problem.family();
  std::vector<std::string> accepted;
  const std::size_t dot = std::min(name.find('.'), name.size());
  const auto number = parse_integer(std::string_view(name).substr(std::min(dot + 1, name.size())));
  for (int i = 0; i < family.operands.count; ++i) {
    const Operand& operand = family.operands[i];
    if (!is_file_role(operand.role, input)) continue;
    const bool list = operand.count != nullptr;
    if (!list && name == operand.name) return {i, 0};
    if (list && name.substr(0, dot) == operand.name && number && *number >= 0 && *number < kMaxEntries)
      return {i, static_cast<int>(*number)};
    add_names(problem, operand, accepted);
  }
  throw wrong(cat(input ? "--in " : "--out ", name, ": ", family.name, " has no ", input ? "input" : "output", " \"",
                  name, "\"; it has ", join(accepted, ", ")));
}

bool is_same(const OperandEntry& a, const OperandEntry& b) { return a.operand == b.operand && a.entry == b.entry; }

std::string name_of(const Family& family, const OperandEntry& which) {
  return entry_name(family.operands[which.operand], which.entry);
}

template <class File>
void refuse_twice(const std::vector<File>& files, const OperandEntry& operand, const char* option,
                  const std::string& name) {
  for (const File& file : files) {
    if (is_same(file.operand, operand)) throw wrong(cat(option, " ", name, " is given twice; give it once"));
  }
}

// Two paths to one regular file would leave only the output that is written last.
template <class File>
void refuse_same_file(const std::vector<File>& files, const std::string& name, const std::string& path,
                      const Family& family) {
  const std::string replaced = replaced_file(path);
  for (const File& file : files) {
    if (replaced.empty() || replaced_file(file.path) != replaced) continue;
    throw wrong(cat("--out ", name, "=", path, " is the file of ", name_of(family, file.operand),
                    " too; give each output a file of its own"));
  }
}

void require_present(const AnyProblem& problem, const OperandEntry& which, const char* option) {
  const Operand& row = problem.family().operands[which.operand];
  if (which.entry < entries_of(row, problem.data()) && row.layout(problem.data(), which.entry).dtype != DType::none)
    return;
  const std::string name = name_of(problem.family(), which);
  throw problem_error(problem.family(), problem.data(), cat(option, " ", name, ": this problem has no ", name));
}

}  // namespace

bool is_file_role(Role role, bool input) {
  return role == Role::update || (role != Role::workspace && (role == Role::input) == input);
}

OperandFiles::OperandFiles(const AnyProblem& problem, const std::vector<std::string>& in,
                           const std::vector<std::string>& out)
    : family_(problem.family()) {
  for (const std::string& text : in) {
    const auto [name, path] = split_setting(text, "NAME=FILE.npy");
    const OperandEntry operand = find_operand(problem, name, true);
    refuse_twice(in_, operand, "--in", name);
    in_.push_back({operand, read_npy_header(path)});
  }
  for (const std::string& text : out) {
    const auto [name, path] = split_setting(text, "NAME=FILE.npy");
    const OperandEntry operand = find_operand(problem, name, false);
    refuse_twice(out_, operand, "--out", name);
    check_named_file("--out", path);
    refuse_same_file(out_, name, path, family_);
    out_.push_back({operand, path});
  }
}

void OperandFiles::set_fields(Subject& subject) const {
  const std::vector<std::string> dtypes = infer_dtypes(subject.problem, in_, subject.typed);
  if (!dtypes.empty()) note(cat("from the files' types: ", join(dtypes, " ")));
  const std::vector<std::string> extents = infer_extents(subject.problem, in_, subject.typed);
  if (!extents.empty()) note(cat("from the files' shapes: ", join(extents, " ")));
}

AnyProblem OperandFiles::close(const AnyProblem& problem) const {
  AnyProblem closed = problem;
  std::vector<std::string> made_up;
  for (const Field* field : open_extents(problem)) {
    const std::optional<std::int64_t> said = extent_of_files(closed, *field, in_);
    set_integer(*field, closed.data(), said.value_or(kMadeUp));
    if (!said) made_up.push_back(cat(field->name, "=", kMadeUp));
  }
  if (!made_up.empty()) note(cat("not given, so chosen: ", join(made_up, " ")));
  check_problem(family_, closed.data());
  require_fit(closed);
  return closed;
}

void OperandFiles::require_fit(const AnyProblem& closed) const {
  for (const InFile& file : in_) {
    require_present(closed, file.operand, "--in");
    const Operand& operand = family_.operands[file.operand.operand];
    require_layout(file.header, operand.layout(closed.data(), file.operand.entry), name_of(family_, file.operand),
                   fitting_dtypes(closed, file));
  }
  for (const OutFile& file : out_) require_present(closed, file.operand, "--out");
}

void OperandFiles::load(HostOperands& host) const {
  for (const InFile& file : in_)
    read_npy_data(file.header, host.layout(host.place(file.operand)), host.data(host.place(file.operand)));
}

void OperandFiles::save(const HostOperands& host) const {
  for (const OutFile& file : out_)
    write_named_file(file.path, npy_bytes(host.layout(host.place(file.operand)), host.data(host.place(file.operand))));
}

std::vector<std::string> OperandFiles::out_paths() const {
  std::vector<std::string> paths;
  for (const OutFile& file : out_) paths.push_back(file.path);
  return paths;
}

}  // namespace quern::tool
