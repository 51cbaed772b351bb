// Problems with a program: the family's functions of these names.
#ifndef QUERN_POINTWISE_PROGRAM_LAUNCH_H_
#define QUERN_POINTWISE_PROGRAM_LAUNCH_H_

#include "pointwise/program.h"

namespace quern::pointwise::program {

Layout input_layout(const Pointwise& p, int entry);
Layout output_layout(const Pointwise& p, int entry);
int input_count(const void* p);
int output_count(const void* p);
std::string input_name(const void* p, int entry);
std::string output_name(const void* p, int entry);

// The image's part that has the formulas and the inputs; `outputs_text` declares the outputs.
void specialize_operands(const Pointwise& p, std::size_t numbers_at, const std::string& outputs_text, Spec& spec);
// The addresses and the numbers of a launch, where the kernel's parameters have them; scales are left out. May refuse
// the launch.
void write_operands(const Pointwise& p, const PointwiseArgs& a, std::size_t operands_at, std::size_t numbers_at,
                    Launch& launch);
std::size_t params_bytes(const Summary& s, std::size_t numbers_at);

// Without reductions.
void specialize(const Pointwise& p, Spec& spec);
void launch(const Pointwise& p, const PointwiseArgs& a, const DeviceModel& model, const Config& config, Launch& launch);
void reference(const Pointwise& p, const PointwiseArgs& a);
Tolerance tolerance(const Pointwise& p, int output);
// Of an output in the order of its memory.
bool allowance(const Pointwise& p, const PointwiseArgs& a, int output, double* of_elements);
std::int64_t bytes(const Pointwise& p);

}  // namespace quern::pointwise::program

#endif  // QUERN_POINTWISE_PROGRAM_LAUNCH_H_
