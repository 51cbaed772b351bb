// The problem of a command, from the words FAMILY k=v …, and its target.
#ifndef QUERN_TOOLS_IO_SUBJECT_H_
#define QUERN_TOOLS_IO_SUBJECT_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/device.h"
#include "quern/runtime.h"
#include "testbench/operands.h"

namespace quern::tool {

// A problem with its run-time numbers.
struct Subject {
  explicit Subject(const Family& own_family) : Subject(AnyProblem(own_family)) {}
  explicit Subject(const AnyProblem& own_problem) : problem(own_problem), scalars(own_problem.family()) {}
  const Family& family() const { return problem.family(); }
  AnyProblem problem;
  AnyArgs scalars;
  std::set<std::string> typed;  // names of the fields and numbers that were given
};

// From words like "gather", "width=8192", "multiplier=0.5". A word may hold several, so that problem texts can be
// pasted as one. Checks fields and rules. Throws Error (bad_input).
Subject parse_subject(const Runtime& runtime, const std::vector<std::string>& words);
// The same without the rules between fields, as some fields are set later.
Subject read_subject(const Runtime& runtime, const std::vector<std::string>& words);
// "multiplier=0.5": sets a run-time number. Throws Error (bad_input).
void set_scalar(Subject& subject, std::string_view setting);
// Checks fields, the rules between them, and that every given run-time number is used. Throws Error (bad_input).
void check_subject(const Subject& subject);

// Splits at the first "=" into name and value; throws Error that shows `form` if there is none.
std::pair<std::string, std::string> split_setting(std::string_view text, std::string_view form);

// The fields that are still open.
std::vector<const Field*> open_extents(const AnyProblem& problem);

// The target of "--arch" and "--device-model"; sm_90a if both are empty. "native" is the first GPU's, for which the
// driver is opened. Throws Error (bad_input; no_driver and no_device for "native").
struct Place {
  Target target;
  DeviceModel model;
};
Place parse_place(Runtime& runtime, const std::string& arch, const std::string& device_model);

// Throws Error (bad_input) unless `config` is legal for the problem on some architecture: all that can be checked
// before a device is opened.
void check_config(const Subject& subject, const std::string& config);
// The same for one target.
void check_config(const AnyProblem& problem, const Target& target, const DeviceModel& model, const std::string& config);

// A config as `--config` takes it: "threads=128,vector=16".
std::string config_option(const Step& step, const void* problem, const Config& config);

// "compiled" if any was compiled, else "disk", else "memory".
ImageOrigin worst_origin(const std::vector<ImageInfo>& images);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_SUBJECT_H_
