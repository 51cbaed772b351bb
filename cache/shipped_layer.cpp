#include "cache/shipped_layer.h"

#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "cache/directory_layer.h"
#include "cache/pack_layer.h"

namespace quern::cache {
namespace {

// Absolute, so that the layers survive a chdir of the host.
std::string absolute(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path full = std::filesystem::absolute(path, failed);
  return failed ? path : full.string();
}

}  // namespace

ShippedLayer::ShippedLayer(const std::string& path, CacheMatch match, const Trust& trust, Services& services)
    : Layer(absolute(path), services), match_(match), trust_(trust) {}

// The log is written after the lock is released: its sink may call this store.
Layer* ShippedLayer::layer() {
  if (Layer* const there = there_.load(std::memory_order_acquire)) return there;
  std::string warning;
  {
    const std::lock_guard lock(looking_);
    if (owned_) return owned_.get();
    std::string why;
    owned_ = look(&why);
    there_.store(owned_.get(), std::memory_order_release);
    if (!owned_ && missing_.empty()) warning = cat("a cache layer is not used: ", why);
    if (!why.empty()) missing_ = std::move(why);
  }
  if (!warning.empty()) {
    ++services_.counters.refused;
    services_.log.warning(warning);
  }
  return there_.load(std::memory_order_acquire);
}

// A directory is read as one, everything else as a pack, which then reports its own errors.
std::unique_ptr<Layer> ShippedLayer::look(std::string* why) {
  std::string canonical;
  FileStatus status;
  int error = error_of(patiently([&] { return services_.files.resolve(path_, &canonical); }));
  if (error == 0) error = error_of(patiently([&] { return services_.files.status(canonical, &status); }));
  if (error != 0) {
    *why = cat(path_, ": ", error_text(error));
    return nullptr;
  }
  if (status.kind == FileKind::directory)
    return std::make_unique<DirectoryLayer>(path_, DirectoryRole::shipped, match_, trust_, services_);
  return std::make_unique<PackLayer>(path_, trust_, services_);
}

EntryPointer ShippedLayer::find_exact(const Key& key, const Rejected& rejected) {
  Layer* const there = layer();
  return there == nullptr ? nullptr : there->find_exact(key, rejected);
}

EntryPointer ShippedLayer::find_match(const Key& key, const Rejected& rejected, bool* others) {
  Layer* const there = layer();
  return there == nullptr ? nullptr : there->find_match(key, rejected, others);
}

std::vector<Item> ShippedLayer::list(Check check) {
  Layer* const there = layer();
  return there == nullptr ? std::vector<Item>() : there->list(check);
}

std::vector<std::string> ShippedLayer::keys(const std::string& start) {
  Layer* const there = layer();
  return there == nullptr ? std::vector<std::string>() : there->keys(start);
}

std::vector<Item> ShippedLayer::untrusted() {
  Layer* const there = layer();
  return there == nullptr ? std::vector<Item>() : there->untrusted();
}

Reading ShippedLayer::load(const std::string& item_key) {
  if (Layer* const there = layer()) return there->load(item_key);
  Reading reading;
  reading.why = report().unusable;
  return reading;
}

LayerReport ShippedLayer::report() {
  LayerReport report;
  if (Layer* const there = layer()) {
    report = there->report();
  } else {
    const std::lock_guard lock(looking_);
    report = {path_, "missing", false, 0, missing_};
  }
  report.hits = hits_;
  return report;
}

}  // namespace quern::cache
