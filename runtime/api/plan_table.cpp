#include "api/plan_table.h"

#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

namespace quern {
namespace {

// Threads that take copies of one pointer write its one count, a cache line that then travels between their cores. A
// plan that threads of other stripes asked for so often gets a count for each stripe (2 KiB). Most of many plans never
// do, which is what keeps a look-up among them short.
constexpr unsigned kBusy = 64;
constexpr int kPatience = 1000;  // looks at whether readers are gone

auto is(const PlanKey& key) {
  return [&key](const PlanState& plan) { return plan.key == key; };
}

// Whether there are copies besides the table's own.
bool shared(const PlanState& plan) {
  const StripedPointer<PlanState>* const striped = plan.handout.striped.load();
  return striped != nullptr ? striped->shared(1) : plan.weak_from_this().use_count() > 1;
}

}  // namespace

PlanTable::~PlanTable() {
  remove_if([](const PlanState&) { return true; });
}

PlanTable::Pointer PlanTable::find(const PlanKey& key) const {
  const PlanState* busy = nullptr;
  Pointer found;
  {
    const ReadMostlyTable<PlanState>::Reader reader(table_);
    const PlanState* const plan = reader.find(key.hash, is(key));
    if (plan == nullptr) return nullptr;
    PlanState::Handout& handout = plan->handout;
    if (const auto* striped = handout.striped.load(std::memory_order_acquire)) return striped->get();
    if (this_stripe() != handout.home && handout.visits.fetch_add(1, std::memory_order_relaxed) == kBusy) busy = plan;
    found = plan->shared_from_this();
  }
  if (busy != nullptr) stripe(*busy);
  return found;
}

// REQUIRES: the caller holds the plan.
void PlanTable::stripe(const PlanState& plan) const {
  const std::lock_guard lock(writing_);
  const bool here = table_.find(plan.key.hash, is(plan.key)) == &plan;
  if (here && plan.handout.striped.load() == nullptr)
    plan.handout.striped.store(new StripedPointer<PlanState>(plan.shared_from_this()), std::memory_order_release);
}

PlanTable::Pointer PlanTable::add(const Pointer& plan) {
  const std::lock_guard lock(writing_);
  if (const PlanState* known = table_.find(plan->key.hash, is(plan->key))) return known->shared_from_this();
  plan->handout.home = this_stripe();
  table_.set(plan->key.hash, is(plan->key), plan);
  return plan;
}

std::vector<PlanTable::Pointer> PlanTable::remove_if(const std::function<bool(const PlanState&)>& goes) {
  std::vector<Pointer> removed;
  {
    const std::lock_guard lock(writing_);
    table_.remove_if([&](const PlanState& plan) {
      if (!goes(plan)) return false;
      removed.push_back(plan.shared_from_this());
      return true;
    });
  }
  for (int tries = 0; !removed.empty() && !collect() && tries < kPatience; ++tries) std::this_thread::yield();
  return removed;
}

// Ends the counts for each stripe, which hold their plans, of the plans that were taken out. False where a reader may
// still see them; then the next call does it.
bool PlanTable::collect() {
  std::vector<Pointer> gone;
  const std::lock_guard lock(writing_);
  gone = table_.collect();
  for (const Pointer& plan : gone) delete plan->handout.striped.exchange(nullptr);
  return !gone.empty();
}

std::vector<PlanTable::Pointer> PlanTable::forget(const Family& family, const PackedProblem& problem) {
  return remove_if([&](const PlanState& plan) {
    const PackedProblem& packed = plan.key.packed;
    return plan.key.family == &family && packed.size == problem.size &&
           std::memcmp(packed.bytes.data(), problem.bytes.data(), packed.size) == 0;
  });
}

std::vector<PlanTable::Pointer> PlanTable::forget_context(std::uint64_t context) {
  return remove_if([&](const PlanState& plan) { return plan.key.context == context; });
}

std::vector<PlanTable::Pointer> PlanTable::forget_unused() {
  return remove_if([](const PlanState& plan) { return !shared(plan); });
}

std::size_t PlanTable::size() const {
  const std::lock_guard lock(writing_);
  return table_.size();
}

}  // namespace quern
