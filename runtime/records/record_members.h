// The members of a record's line, in their order.
#ifndef QUERN_RECORDS_RECORD_MEMBERS_H_
#define QUERN_RECORDS_RECORD_MEMBERS_H_

#include "base/clock_members.h"
#include "base/members.h"
#include "records/record.h"

namespace quern {

inline constexpr int kRecordSchema = 1;

constexpr auto members(const Rival&) {
  return std::tuple{
      required("config", &Rival::config),
      required("us", &Rival::us),
  };
}

constexpr auto members(const Record&) {
  return std::tuple{
      required("family", &Record::family),
      required("problem", &Record::problem),
      required("device", &Record::device),
      required("target", &Record::target),
      required("regime", &Record::regime),
      required("config", &Record::config),
      required("us", &Record::us),
      always("default_us", &Record::default_us),
      always("band_percent", &Record::band_percent),
      always("samples", &Record::samples),
      always("rivals", &Record::rivals),
      always("copy_us", &Record::copy_us),
      always("clocks", &Record::clocks),
      always("driver", &Record::driver),
      always("compiler", &Record::compiler),
      always("image_key", &Record::image_key),
      always("image_digest", &Record::image_digest),
      always("space_digest", &Record::space_digest),
      always("quern", &Record::quern),
      always("strategy", &Record::strategy),
      always("seed", &Record::seed),
      always("evaluations", &Record::evaluations),
      always("seconds", &Record::seconds),
      always("created_unix_ns", &Record::created_unix_ns),
  };
}

}  // namespace quern

#endif  // QUERN_RECORDS_RECORD_MEMBERS_H_
