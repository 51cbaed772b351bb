#include "api/plan_table.h"

#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "base/hash.h"

namespace quern {

PlanKey::PlanKey(const Family& key_family, const void* problem, std::uint64_t context_id)
    : family(&key_family), context(context_id) {
  pack(key_family, problem, packed);
  hash = hash64(packed.bytes.data(), packed.size) ^ (context * 0x9e3779b97f4a7c15u) ^
         (reinterpret_cast<std::uintptr_t>(family) >> 4);
}

bool operator==(const PlanKey& left, const PlanKey& right) {
  return left.hash == right.hash && left.family == right.family && left.context == right.context &&
         left.packed.size == right.packed.size &&
         std::memcmp(left.packed.bytes.data(), right.packed.bytes.data(), left.packed.size) == 0;
}

KeptPlanKey::KeptPlanKey(const PlanKey& key)
    : hash_(key.hash), family_(key.family), context_(key.context), size_(key.packed.size) {
  if (size_ > kInside) outside_ = std::make_unique<unsigned char[]>(size_);
  std::memcpy(outside_ != nullptr ? outside_.get() : inside_.data(), key.packed.bytes.data(), size_);
}

bool KeptPlanKey::is_of(const Family& family, const PackedProblem& packed) const {
  return family_ == &family && size_ == packed.size && std::memcmp(bytes(), packed.bytes.data(), size_) == 0;
}

bool operator==(const KeptPlanKey& kept, const PlanKey& key) {
  return kept.hash_ == key.hash && kept.context_ == key.context && kept.is_of(*key.family, key.packed);
}

namespace {

// Threads that copy one pointer write its count, a cache line that then moves between their cores. After kBusy look-ups
// by threads of other stripes a plan gets a count per stripe, of 2 KiB. At most kMostStriped plans do: if very many
// plans are in use, threads rarely contend for one.
constexpr unsigned kBusy = 64;
constexpr std::size_t kMostStriped = 1024;
constexpr int kPatience = 1000;  // attempts to see all readers finished

auto is(const PlanKey& key) {
  return [&key](const auto& node) { return node.key == key; };
}

}  // namespace

// Needs no lock and allocates nothing: using the table during its destruction is an error.
PlanTable::~PlanTable() {
  table_.for_each([this](const Node& node) { unstripe(node); });
  for (const auto& node : table_.collect()) unstripe(*node);
}

PlanTable::Pointer PlanTable::find(const PlanKey& key) const {
  bool busy = false;
  Pointer found;
  {
    const ReadMostlyTable<Node>::Reader reader(table_);
    const Node* const node = reader.find(key.hash, is(key));
    if (node == nullptr) return nullptr;
    if (const auto* striped = node->striped.load(std::memory_order_acquire)) return striped->get();
    busy = this_stripe() != node->home && node->visits.fetch_add(1, std::memory_order_relaxed) == kBusy;
    found = pointer(*node);
  }
  if (busy) stripe(key);
  return found;
}

void PlanTable::stripe(const PlanKey& key) const {
  const std::lock_guard lock(writing_);
  const Node* const node = table_.find(key.hash, is(key));
  if (node == nullptr || node->striped.load() != nullptr || striped_ == kMostStriped) return;
  node->striped.store(new StripedPointer<PlanState>(pointer(*node)), std::memory_order_release);
  ++striped_;
}

PlanTable::Pointer PlanTable::add(const PlanKey& key, Pointer plan) {
  const std::lock_guard lock(writing_);
  if (const Node* known = table_.find(key.hash, is(key))) return pointer(*known);
  return pointer(table_.set(key.hash, is(key), key, std::move(plan)));
}

// Whether there are copies of the plan's pointer other than the table's own, which are one of the node and one of the
// plan.
bool PlanTable::is_shared(const Node& node) {
  const StripedPointer<PlanState>* const striped = node.striped.load();
  const bool copied = striped != nullptr ? striped->shared(1) : node.weak_from_this().use_count() > 1;
  return copied || node.plan.use_count() > 1;
}

std::size_t PlanTable::remove_if(const std::function<bool(const Node&)>& goes) {
  std::size_t removed = 0;
  {
    const std::lock_guard lock(writing_);
    removed = table_.remove_if(goes);
  }
  for (int tries = 0; removed != 0 && !collect() && tries < kPatience; ++tries) std::this_thread::yield();
  return removed;
}

// Destroys the removed nodes: first their counts per stripe, which hold them. False if a reader may still see them;
// then a later call destroys them.
bool PlanTable::collect() {
  std::vector<std::shared_ptr<const Node>> gone;  // destroyed outside the lock
  const std::lock_guard lock(writing_);
  gone = table_.collect();
  for (const auto& node : gone) unstripe(*node);
  return !gone.empty();
}

void PlanTable::unstripe(const Node& node) {
  const StripedPointer<PlanState>* const striped = node.striped.exchange(nullptr);
  if (striped != nullptr) --striped_;
  delete striped;
}

std::size_t PlanTable::forget(const Family& family, const PackedProblem& problem) {
  return remove_if([&](const Node& node) { return node.key.is_of(family, problem); });
}

std::size_t PlanTable::forget_context(std::uint64_t context) {
  return remove_if([&](const Node& node) { return node.key.context() == context; });
}

std::size_t PlanTable::forget_unused() {
  return remove_if([](const Node& node) { return !is_shared(node); });
}

std::size_t PlanTable::size() const {
  const std::lock_guard lock(writing_);
  return table_.size();
}

}  // namespace quern
