// Values of fields, as problem texts write them.
#ifndef QUERN_PYTHON_SETTING_H_
#define QUERN_PYTHON_SETTING_H_

#include "python.h"

namespace quern::python {

// 4096, "gelu", None ("none"), [16, 8] ("16,8"), numpy.float32, torch.bfloat16 ("bfloat16"); in quotes where needed.
std::string setting_text(PyObject* value);
// The text itself, or in quotes where needed.
std::string quoted(const std::string& text);

}  // namespace quern::python

#endif  // QUERN_PYTHON_SETTING_H_
