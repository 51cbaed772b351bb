// The members of the lines of a sweep's file.
#ifndef QUERN_TUNER_JOURNAL_JOURNAL_MEMBERS_H_
#define QUERN_TUNER_JOURNAL_JOURNAL_MEMBERS_H_

#include "base/clock_members.h"
#include "base/json.h"
#include "tuner/journal/journal.h"

namespace quern {

constexpr auto members(const SweepAxis&) {
  return std::tuple{
      required("name", &SweepAxis::name),
      required("values", &SweepAxis::values),
      optional("sentence", &SweepAxis::sentence),
      optional("otherwise", &SweepAxis::otherwise),
  };
}

constexpr auto members(const SweepBudget&) {
  return std::tuple{
      always("evaluations", &SweepBudget::evaluations),
      always("seconds", &SweepBudget::seconds),
  };
}

constexpr auto members(const SweepHead&) {
  return std::tuple{
      always("family", &SweepHead::family),
      required("problem", &SweepHead::problem),
      always("device", &SweepHead::device),
      always("target", &SweepHead::target),
      always("regime", &SweepHead::regime),
      required("axes", &SweepHead::axes),
      always("points", &SweepHead::points),
      always("default", &SweepHead::default_config),
      always("space", &SweepHead::space),
      always("strategy", &SweepHead::strategy),
      always("seed", &SweepHead::seed),
      always("budget", &SweepHead::budget),
      always("started_unix_ns", &SweepHead::started_unix_ns),
      always("quern", &SweepHead::quern),
      optional("command", &SweepHead::command),
      always("driver", &SweepHead::driver),
      always("compiler", &SweepHead::compiler),
      always("clocks", &SweepHead::clocks),
      always("bytes", &SweepHead::bytes),
      always("copy_us", &SweepHead::copy_us),
  };
}

constexpr auto members(const SweepTrial&) {
  return std::tuple{
      required("config", &SweepTrial::config),
      optional("failure", &SweepTrial::failure),
      optional("why", &SweepTrial::why),
      optional("us", &SweepTrial::us),
      optional("samples", &SweepTrial::samples),
      optional("method", &SweepTrial::method),
      optional("image", &SweepTrial::image),
      optional("digest", &SweepTrial::digest),
      optional("same_as", &SweepTrial::same_as),
      optional("registers", &SweepTrial::registers),
      optional("shared_bytes", &SweepTrial::shared_bytes),
      optional("spills", &SweepTrial::spills),
      optional("compile_ms", &SweepTrial::compile_ms),
      always("at_s", &SweepTrial::at_s),
  };
}

constexpr auto members(const SweepFinalist&) {
  return std::tuple{
      required("config", &SweepFinalist::config), required("us", &SweepFinalist::us),
      always("low", &SweepFinalist::low),         always("high", &SweepFinalist::high),
      always("rounds", &SweepFinalist::rounds),
  };
}

constexpr auto members(const SweepResult&) {
  return std::tuple{
      required("winner", &SweepResult::winner),
      always("why", &SweepResult::why),
      always("us", &SweepResult::us),
      always("default_us", &SweepResult::default_us),
      always("percent", &SweepResult::percent),
      always("low", &SweepResult::low),
      always("high", &SweepResult::high),
      always("band_percent", &SweepResult::band_percent),
      always("rivals", &SweepResult::rivals),
      always("evaluations", &SweepResult::evaluations),
      always("seconds", &SweepResult::seconds),
      always("stopped", &SweepResult::stopped),
      optional("complete", &SweepResult::complete),
  };
}

// Defined in journal.cpp.
Json json_of(FailureKind kind);
void read_json(const Json& json, const std::string& name, FailureKind& kind);

}  // namespace quern

#endif  // QUERN_TUNER_JOURNAL_JOURNAL_MEMBERS_H_
