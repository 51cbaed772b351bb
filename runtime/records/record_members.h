// The members of a record's line, in their order: one list for writing and for both ways of reading.
//
// Each function calls visit(name, member, required) for every member.
#ifndef QUERN_RECORDS_RECORD_MEMBERS_H_
#define QUERN_RECORDS_RECORD_MEMBERS_H_

namespace quern {

inline constexpr int kRecordSchema = 1;

template <class R, class Visit>
void visit_members(R& record, const Visit& visit) {
  visit("family", record.family, true);
  visit("problem", record.problem, true);
  visit("device", record.device, true);
  visit("target", record.target, true);
  visit("regime", record.regime, true);
  visit("config", record.config, true);
  visit("us", record.us, true);
  visit("default_us", record.default_us, false);
  visit("band_percent", record.band_percent, false);
  visit("samples", record.samples, false);
  visit("rivals", record.rivals, false);
  visit("copy_us", record.copy_us, false);
  visit("clocks", record.clocks, false);
  visit("driver", record.driver, false);
  visit("compiler", record.compiler, false);
  visit("image_key", record.image_key, false);
  visit("image_digest", record.image_digest, false);
  visit("space_digest", record.space_digest, false);
  visit("quern", record.quern, false);
  visit("strategy", record.strategy, false);
  visit("seed", record.seed, false);
  visit("evaluations", record.evaluations, false);
  visit("seconds", record.seconds, false);
  visit("created_unix_ns", record.created_unix_ns, false);
}
template <class C, class Visit>
void visit_clocks(C& clocks, const Visit& visit) {
  visit("sm_mhz", clocks.sm_mhz, false);
  visit("memory_mhz", clocks.memory_mhz, false);
  visit("power_limit_w", clocks.power_limit_w, false);
  visit("throttled", clocks.throttled, false);
}
template <class R, class Visit>
void visit_rival(R& rival, const Visit& visit) {
  visit("config", rival.config, true);
  visit("us", rival.us, true);
}

}  // namespace quern

#endif  // QUERN_RECORDS_RECORD_MEMBERS_H_
