// What the page's script knows of the configs that a section draws.
#ifndef QUERN_TOOLS_REPORT_DRAWN_DATA_H_
#define QUERN_TOOLS_REPORT_DRAWN_DATA_H_

#include <string>
#include <vector>

#include "tuner/journal/journal.h"

namespace quern::tool::report {

struct Drawn {
  int index;                // of its marks, data-i
  std::string us;           // as it is shown
  std::vector<int> values;  // for each axis the index of its value; -1: none
};

// A script element with {axes: [{name, values}], configs: {index: [us, value...]}}.
std::string drawn_data(const std::vector<SweepAxis>& axes, const std::vector<Drawn>& configs);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_DRAWN_DATA_H_
