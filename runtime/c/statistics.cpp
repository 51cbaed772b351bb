// The counters of a Runtime by name.
#include <iterator>

#include "c/error.h"
#include "c/runtime.h"

static size_t write_statistics(const quern::Statistics& s, quern_counter* counters, size_t capacity) {
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  const quern_counter all[] = {
      {"hits.plan", number(s.hits.plan)},
      {"hits.memory", number(s.hits.memory)},
      {"hits.disk", number(s.hits.disk)},
      {"compiles.count", number(s.compiles.count)},
      {"compiles.seconds", s.compiles.seconds},
      {"compiles.waits", number(s.compiles.waits)},
      {"compiles.process_waits", number(s.compiles.process_waits)},
      {"compiles.process_timeouts", number(s.compiles.process_timeouts)},
      {"compiles.remembered_failures", number(s.compiles.remembered_failures)},
      {"misses.all", number(s.misses.all)},
      {"misses.absent", number(s.misses.absent)},
      {"misses.other_compiler", number(s.misses.other_compiler)},
      {"misses.rejected", number(s.misses.rejected)},
      {"refused.damaged", number(s.refused.damaged)},
      {"refused.foreign", number(s.refused.foreign)},
      {"refused.untrusted", number(s.refused.untrusted)},
      {"refused.unreadable", number(s.refused.unreadable)},
      {"refused.layers", number(s.refused.layers)},
      {"store.bytes_read", number(s.store.bytes_read)},
      {"store.bytes_written", number(s.store.bytes_written)},
      {"store.not_stored", number(s.store.not_stored)},
      {"store.evictions", number(s.store.evictions)},
      {"store.evicted_bytes", number(s.store.evicted_bytes)},
      {"store.failures", number(s.store.failures)},
      {"held.plans", number(s.held.plans)},
      {"held.libraries", number(s.held.libraries)},
      {"held.library_bytes", number(s.held.library_bytes)},
      {"held.images", number(s.held.images)},
      {"held.image_bytes", number(s.held.image_bytes)},
      {"tuning.sweeps", number(s.tuning.sweeps)},
      {"tuning.better_plans", number(s.tuning.better_plans)},
  };
  for (size_t i = 0; i < std::size(all) && i < capacity; ++i) counters[i] = all[i];
  return std::size(all);
}

size_t quern_runtime_statistics(quern_runtime* runtime, quern_counter* counters, size_t capacity) {
  size_t count = 0;
  quern::c::guarded(quern::Stage::store, nullptr, [&] {
    quern::c::require(runtime, "runtime");
    count = write_statistics(runtime->runtime.statistics(), counters, capacity);
  });
  return count;
}
