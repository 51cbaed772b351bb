// What a kernel's PTX says about its accesses to global memory.
#ifndef QUERN_TOOLS_PTX_H_
#define QUERN_TOOLS_PTX_H_

#include <map>
#include <string>
#include <string_view>

namespace quern::tool {

// How many instructions access so many bytes a thread.
using Widths = std::map<int, int>;

struct Accesses {
  Widths loads;
  Widths stores;
};

// Counts ld.global… and st.global… by their vector and type: "ld.global.nc.v4.u32" is 16 bytes.
Accesses count_accesses(std::string_view ptx);

// "4 × 16 B, 1 × 8 B"; "none".
std::string widths_text(const Widths& widths);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_PTX_H_
