#include "cache/store.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "cache/shipped_layer.h"

namespace quern::cache {

const char* name(Origin origin) {
  static constexpr const char* kNames[] = {"memory", "disk", "built"};
  return kNames[static_cast<int>(origin)];
}

Store::Store(const Settings& settings, const Log& log, FileSystem& files)
    : match_(settings.match), write_behind_(settings.write_behind), services_(files, log) {
  if (settings.mode == CacheMode::off) return;
  const bool written = settings.mode == CacheMode::read_write;
  const DirectoryRole role = written                   ? DirectoryRole::written
                             : settings.layers.empty() ? DirectoryRole::read
                                                       : DirectoryRole::maybe;
  auto own = std::make_unique<DirectoryLayer>(settings.dir, role, settings.match, settings.trust, services_);
  directory_ = own.get();
  layers_.push_back(std::move(own));
  if (written) writer_ = std::make_unique<Writer>(*directory_, settings.writer, services_);
  for (const std::string& path : settings.layers)
    layers_.push_back(std::make_unique<ShippedLayer>(path, settings.match, settings.trust, services_));
}

// Whatever fails there, including memory and a log sink that throws, the caller still gets its image.
template <class Operation>
void Store::guarded(const Operation& operation) {
  try {
    operation();
  } catch (const std::exception&) {
    ++services_.counters.failures;
  }
}

// ---- looking up

// The exact compiler's entry from the first layer that has it, else from the first layer with an entry that may serve.
EntryPointer Store::look_up(const Key& key, const Rejected& rejected, bool* others) {
  for (const auto& layer : layers_) {
    EntryPointer entry = key.who.empty() ? nullptr : layer->find_exact(key, rejected);
    if (entry) return layer->count_hit(), entry;
  }
  for (const auto& layer : layers_) {
    EntryPointer entry = match_ == CacheMatch::exact ? nullptr : layer->find_match(key, rejected, others);
    if (entry) return layer->count_hit(), entry;
  }
  return nullptr;
}

EntryPointer Store::from_layers(const Key& key) {
  EntryPointer entry;
  if (layers_.empty()) return entry;
  AtomicCounters& counters = services_.counters;
  bool others = false;
  const Rejected rejected = memory_.rejected(key);
  const auto odd = [&] {
    return counters.damaged + counters.foreign + counters.untrusted + counters.unreadable + counters.newer;
  };
  const std::uint64_t odd_before = odd();
  guarded([&] { entry = look_up(key, rejected, &others); });
  ++(entry ? counters.layer_hits : counters.misses);
  if (entry) return memory_.add(key, entry);
  if (!rejected.empty()) return ++counters.rejected, entry;
  if (others) ++counters.other_compiler;
  if (!others && odd() == odd_before) ++counters.absent;
  return entry;
}

bool Store::is_kept(const Key& key) {
  bool others = false;
  EntryPointer entry;
  guarded([&] { entry = look_up(key, memory_.rejected(key), &others); });
  return entry != nullptr;
}

EntryPointer Store::find(const Key& key) {
  if (auto entry = memory_.find(key)) return entry;
  return from_layers(key);
}

// ---- building

FileStatus Store::own_file(const Key& key) {
  FileStatus status;
  if (writer_ && !key.who.empty()) services_.files.status(directory_->entry_path(key), &status);
  return status;
}

// An entry that another process wrote since `before`; an unchanged file that was skipped once is not read again.
EntryPointer Store::published_meanwhile(const Key& key, const FileStatus& before) {
  EntryPointer entry;
  const FileStatus now = own_file(key);
  const bool same = now.inode == before.inode && now.modified_ns == before.modified_ns && now.bytes == before.bytes;
  if (same) return entry;
  guarded([&] { entry = directory_->find_exact(key, memory_.rejected(key)); });
  if (!entry) return entry;
  directory_->count_hit();
  ++services_.counters.layer_hits;
  return memory_.add(key, entry);
}

Found Store::lead(const Key& key, const Build& build, const Patience& patience, std::unique_ptr<Lease>& lease) {
  // Check again: another thread may have built it between our look-up and the start of this flight.
  if (auto entry = memory_.find(key)) return {std::move(entry), Origin::memory};
  throw_remembered(key, false);
  FileStatus before = own_file(key);
  const std::uint64_t unreadable = services_.counters.unreadable;
  if (auto entry = from_layers(key)) return {std::move(entry), Origin::disk};
  if (services_.counters.unreadable != unreadable) before = {};  // it may be readable by now
  EntryPointer published;
  guarded([&] {
    const auto done = [&] { return (published = published_meanwhile(key, before)) != nullptr; };
    if (writer_) lease = writer_->lease(key, done, patience);
  });
  if (published) return {std::move(published), Origin::disk};
  throw_remembered(key, true);
  return {keep(key, build_once(key, build, lease)), Origin::built};
}

Entry Store::build_once(const Key& key, const Build& build, std::unique_ptr<Lease>& lease) {
  try {
    Entry made = build();
    ++services_.counters.builds;
    return made;
  } catch (const Error& error) {
    if (error.lasting) remember(key, error, std::move(lease));
    throw;
  }
}

Found Store::get_or_build(const Key& key, const Build& build, const Patience& patience) {
  if (auto entry = memory_.find(key)) return {std::move(entry), Origin::memory};
  std::unique_ptr<Lease> lease;  // outlives the flight: released when the entry is written
  bool led = false;
  Found found = flights_.run(
      key, [&] { return lead(key, build, patience, lease); }, &led);
  if (!led) {
    ++services_.counters.waits;
    found.origin = Origin::memory;
  } else if (found.origin == Origin::built) {
    publish(key, found.entry, std::move(lease));
  }
  return found;
}

// ---- keeping

EntryPointer Store::keep(const Key& key, Entry entry) {
  if (entry.what.empty()) entry.what = key.what;
  if (entry.who.empty()) entry.who = key.who;
  if (entry.created_unix_ns == 0) entry.created_unix_ns = services_.files.now_unix_ns();
  auto kept = std::make_shared<const Entry>(std::move(entry));
  memory_.replace(key, kept);
  return kept;
}

void Store::write(const Entry& entry, Sync sync) {
  guarded([&] {
    if (!writer_) return;
    writer_->put({entry.what, entry.who, hash128(entry.what), hash128(entry.who)}, entry, sync);
    writer_->make_room();
  });
}

void Store::sync() {
  guarded([&] {
    if (writer_) writer_->sync();
  });
}

bool Store::keeps_for_all(const std::string& item_key) {
  bool kept = false;
  guarded([&] {
    if (directory_ == nullptr) return;
    const Reading reading = of_its_own_name(item_key, directory_->load(item_key));
    kept = reading.entry && reading.entry->prewarmed;
  });
  return kept;
}

void Store::later(std::function<void()> operation) {
  if (!writer_) return;
  if (!write_behind_) return guarded(operation);
  writes_.add([this, operation = std::move(operation)] { guarded(operation); });
}

void Store::flush() { writes_.flush(); }

// Under the key's own hashes if the texts are the key's: a test may have forced them. The lease ends when the entry is
// on disk, before room is made for it, so that waiting processes find it at once.
void Store::publish(const Key& key, const EntryPointer& entry, std::shared_ptr<Lease> lease) {
  if (entry->texts_elsewhere) return;  // the layer has the complete entry
  later([this, key, entry, lease = std::move(lease)]() mutable {
    const bool own = entry->what == key.what && entry->who == key.who;
    writer_->put(own ? key : Key{entry->what, entry->who, hash128(entry->what), hash128(entry->who)}, *entry);
    lease.reset();
    writer_->make_room();
  });
}

EntryPointer Store::put(const Key& key, Entry entry) {
  auto kept = keep(key, std::move(entry));
  publish(key, kept, nullptr);
  return kept;
}

void Store::reject(const Key& key, const EntryPointer& rejected) {
  EntryPointer was;
  if (!memory_.reject(key, rejected, &was)) return;
  flush();  // else it could be written after its removal
  guarded([&] {
    if (writer_) writer_->remove(key, rejected ? rejected.get() : was.get());
  });
}

// ---- compiles that failed

void Store::remember(const Key& key, const Error& error, std::shared_ptr<Lease> lease) {
  {
    const std::lock_guard lock(failed_mutex_);
    failed_.insert_or_assign(key, error);
  }
  Failure failure{key.what, key.who, error.sentence, error.log, services_.files.now_unix_ns()};
  later([this, key, failure = std::move(failure), lease = std::move(lease)]() mutable {
    writer_->put(key, failure);
    lease.reset();
    writer_->make_room();
  });
}

void Store::throw_remembered(const Key& key, bool on_disk_too) {
  std::optional<Error> known;
  {
    const std::lock_guard lock(failed_mutex_);
    if (const auto found = failed_.find(key); found != failed_.end()) known = found->second;
  }
  std::optional<Failure> failure;
  if (!known && on_disk_too)
    guarded([&] {
      if (writer_) failure = writer_->failure(key);
    });
  if (failure) {
    known.emplace(Code::compile, Stage::compile, failure->sentence);
    known->log = failure->log;
    known->lasting = true;
  }
  if (!known) return;
  ++services_.counters.remembered;
  known->remembered = true;
  throw Error(*known);
}

void Store::forget_failure(const Key& key) {
  flush();
  {
    const std::lock_guard lock(failed_mutex_);
    failed_.erase(key);
  }
  guarded([&] {
    if (writer_) writer_->forget_failure(key);
  });
}

std::size_t Store::forget_failures() {
  std::size_t removed = 0;
  flush();
  {
    const std::lock_guard lock(failed_mutex_);
    failed_.clear();
  }
  guarded([&] {
    if (writer_) removed = writer_->forget_failures();
  });
  return removed;
}

// ---- for the command line

Counters Store::counters() const {
  Counters counters = snapshot(services_.counters);
  counters.memory_hits = memory_.hits();
  return counters;
}

std::vector<LayerReport> Store::layers() {
  std::vector<LayerReport> reports;
  guarded([&] {
    for (const auto& layer : layers_) reports.push_back(layer->report());
  });
  return reports;
}

std::vector<std::string> Store::keys(const std::string& start) {
  std::vector<std::string> found;
  flush();
  guarded([&] {
    for (const auto& layer : layers_) {
      for (std::string& key : layer->keys(start)) found.push_back(std::move(key));
    }
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());  // several layers may have it
  return found;
}

std::vector<Item> Store::list(Check check) {
  std::vector<Item> items;
  flush();
  guarded([&] {
    for (const auto& layer : layers_) {
      for (Item& item : layer->list(check)) items.push_back(std::move(item));
    }
  });
  return items;
}

std::vector<Item> Store::untrusted() {
  std::vector<Item> items;
  flush();
  guarded([&] {
    for (const auto& layer : layers_) {
      for (Item& item : layer->untrusted()) items.push_back(std::move(item));
    }
  });
  return items;
}

std::vector<Item> Store::failures() {
  std::vector<Item> kept;
  flush();
  guarded([&] {
    if (writer_) kept = writer_->failures();
  });
  return kept;
}

EntryPointer Store::whole(const EntryPointer& entry) {
  return entry && entry->texts_elsewhere ? load(item_key_of(*entry), nullptr) : entry;
}

EntryPointer Store::load(const std::string& item_key, std::string* why_not) {
  flush();
  Reading reading;
  reading.why = layers_.empty() ? "the cache is off" : "";
  if (!is_item_key(item_key))
    reading.why = "invalid key; expected 32 hexadecimal digits, a slash and 32 hexadecimal digits";
  guarded([&] {
    if (!is_item_key(item_key)) return;
    for (std::size_t i = 0; i < layers_.size() && !reading.entry; ++i) {
      Reading here = of_its_own_name(item_key, layers_[i]->load(item_key));
      if (here.entry || reading.why.empty()) reading = std::move(here);
    }
  });
  if (reading.entry) return std::make_shared<const Entry>(*std::move(reading.entry));
  if (why_not != nullptr) *why_not = reading.why.empty() ? "no layer has it" : reading.why;
  return nullptr;
}

// An entry that is not on disk yet would be compiled again.
void Store::drop_unused() {
  flush();
  memory_.drop_unused();
}

std::vector<EntryPointer> Store::resident() { return memory_.entries(); }

std::size_t Store::clear() {
  std::size_t removed = 0;
  forget_failures();
  memory_.clear();
  guarded([&] {
    if (writer_) removed = writer_->clear();
  });
  return removed;
}

bool Store::remove(const std::string& item_key) {
  bool removed = false;
  flush();
  guarded([&] { removed = writer_ && writer_->remove(item_key); });
  return removed;
}

std::size_t Store::tidy(const Limits& limits) {
  std::size_t removed = 0;
  flush();
  guarded([&] {
    if (writer_) removed = writer_->tidy(limits);
  });
  return removed;
}

Limits Store::limits() const { return writer_ ? writer_->limits() : Limits{}; }

std::string Store::directory() const { return directory_ == nullptr ? std::string() : directory_->path(); }

std::string Store::unusable() {
  std::string why;
  guarded([&] {
    if (directory_ != nullptr) why = directory_->report().unusable;
  });
  return why;
}

}  // namespace quern::cache
