// What a sweep's file holds of each struct.
#ifndef QUERN_TUNER_JOURNAL_JOURNAL_MEMBERS_H_
#define QUERN_TUNER_JOURNAL_JOURNAL_MEMBERS_H_

#include "tuner/journal/journal.h"
#include "tuner/journal/json_members.h"

namespace quern {

template <class Visit>
void members(Visit& v, SweepAxis& a) {
  v.required("name", a.name);
  v.required("values", a.values);
  v.optional("sentence", a.sentence);
}

template <class Visit>
void members(Visit& v, ClockRates& c) {
  v.plain("sm_mhz", c.sm_mhz);
  v.plain("memory_mhz", c.memory_mhz);
  v.plain("power_limit_w", c.power_limit_w);
  v.plain("throttled", c.throttled);
}

template <class Visit>
void members(Visit& v, SweepBudget& b) {
  v.plain("evaluations", b.evaluations);
  v.plain("seconds", b.seconds);
}

template <class Visit>
void members(Visit& v, SweepHead& h) {
  v.plain("family", h.family);
  v.required("problem", h.problem);
  v.plain("device", h.device);
  v.plain("target", h.target);
  v.plain("regime", h.regime);
  v.required("axes", h.axes);
  v.plain("points", h.points);
  v.plain("default", h.default_config);
  v.plain("space", h.space);
  v.plain("strategy", h.strategy);
  v.plain("seed", h.seed);
  v.plain("budget", h.budget);
  v.plain("started_unix_ns", h.started_unix_ns);
  v.plain("quern", h.quern);
  v.optional("command", h.command);
  v.plain("driver", h.driver);
  v.plain("compiler", h.compiler);
  v.plain("clocks", h.clocks);
  v.plain("bytes", h.bytes);
  v.plain("copy_us", h.copy_us);
}

template <class Visit>
void members(Visit& v, SweepTrial& t) {
  v.required("config", t.config);
  v.optional("failure", t.failure);
  v.optional("why", t.why);
  v.optional("us", t.us);
  v.optional("samples", t.samples);
  v.optional("method", t.method);
  v.optional("image", t.image);
  v.optional("digest", t.digest);
  v.optional("same_as", t.same_as);
  v.optional("registers", t.registers);
  v.optional("shared_bytes", t.shared_bytes);
  v.optional("spills", t.spills);
  v.optional("compile_ms", t.compile_ms);
  v.plain("at_s", t.at_s);
}

template <class Visit>
void members(Visit& v, SweepFinalist& f) {
  v.required("config", f.config);
  v.required("us", f.us);
  v.plain("low", f.low);
  v.plain("high", f.high);
  v.plain("rounds", f.rounds);
}

template <class Visit>
void members(Visit& v, SweepResult& r) {
  v.required("winner", r.winner);
  v.plain("why", r.why);
  v.plain("us", r.us);
  v.plain("default_us", r.default_us);
  v.plain("percent", r.percent);
  v.plain("low", r.low);
  v.plain("high", r.high);
  v.plain("band_percent", r.band_percent);
  v.plain("rivals", r.rivals);
  v.plain("evaluations", r.evaluations);
  v.plain("seconds", r.seconds);
  v.plain("stopped", r.stopped);
  v.optional("complete", r.complete);
}

inline Json to_json(const std::optional<FailureKind>& kind) { return kind ? Json(name(*kind)) : Json(); }
inline std::string kind_names() {
  std::vector<std::string> names;
  for (const FailureKindRow& row : kFailureKinds) names.emplace_back(row.name);
  return join(names, ", ");
}

inline void from_json(const Json& json, const std::string& name, std::optional<FailureKind>& kind) {
  std::string text;
  from_json(json, name, text);
  kind = failure_kind(text);
  if (!kind) throw Damage{cat(name, " is \"", text, "\"; it may be ", kind_names())};
}

}  // namespace quern

#endif  // QUERN_TUNER_JOURNAL_JOURNAL_MEMBERS_H_
