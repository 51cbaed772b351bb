// How a tuning space says what is wrong with it, or with what names a point of it.
#ifndef QUERN_TUNER_SPACE_REFUSE_H_
#define QUERN_TUNER_SPACE_REFUSE_H_

#include <string>
#include <utility>

#include "quern/error.h"

namespace quern {

[[noreturn]] inline void refuse(std::string sentence) {
  throw Error(Code::bad_input, Stage::tool, std::move(sentence));
}

}  // namespace quern

#endif  // QUERN_TUNER_SPACE_REFUSE_H_
