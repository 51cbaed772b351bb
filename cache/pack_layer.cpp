#include "cache/pack_layer.h"

#include <fcntl.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace quern::cache {

PackLayer::PackLayer(std::string path, const Trust& trust, Services& services)
    : Layer(std::move(path), services), trust_(trust) {}

// The log is written after the lock is released: its sink may call this store. Transient failures (no free descriptor,
// a server that is not mounted yet) are retried at the next use.
PackLayer::PackPointer PackLayer::open() {
  std::string warning;
  PackPointer pack;
  {
    const std::lock_guard lock(opening_);
    if (!opened_) {
      std::string why;
      bool passing = false;
      pack_ = look(&why, &passing);
      opened_ = !passing;
      unusable_.clear();
      if (!pack_) warning = refuse(why);
    }
    pack = pack_;
  }
  if (!warning.empty()) services_.log.warning(warning);
  return pack;
}

PackLayer::PackPointer PackLayer::reopen(const PackPointer& unreadable) {
  {
    const std::lock_guard lock(opening_);
    if (pack_ == unreadable) opened_ = false;
  }
  PackPointer pack = open();
  return pack == unreadable ? nullptr : pack;
}

std::string PackLayer::refuse(const std::string& why) {
  unusable_ = why;
  if (std::exchange(refused_, true)) return {};
  ++services_.counters.refused;
  return cat("a cache layer is not used: ", why);
}

PackLayer::PackPointer PackLayer::look(std::string* why, bool* passing) {
  int error = 0;
  *why = why_path_untrusted(services_.files, path_, trust_, &error);
  *passing = may_pass(error);
  if (!why->empty()) return nullptr;
  auto file = std::make_unique<OpenFile>(services_.files, path_, O_RDONLY | O_NONBLOCK);
  FileStatus status;
  error = file->error();
  if (error == 0) error = error_of(services_.files.status(file->get(), &status));
  *passing = may_pass(error);
  if (error != 0) *why = error_text(error);
  if (why->empty()) *why = why_untrusted(status, FileKind::regular, trust_, services_.files.user());
  if (why->empty()) {
    if (auto index = read_pack_index(services_.files, file->get(), status.bytes, why))
      return std::make_shared<const Pack>(Pack{std::move(file), *std::move(index), status.owner});
  }
  *why = cat(path_, ": ", *why);
  return nullptr;
}

Reading PackLayer::read_first(const Pack& pack, const PackRow& row, std::size_t most, std::string* bytes) {
  Reading reading;
  bytes->resize(static_cast<std::size_t>(std::min<std::uint64_t>(most, row.bytes)));
  reading.bytes = row.bytes;
  reading.owner = pack.owner;
  const int error = read_exactly(services_.files, pack.file->get(), row.offset, bytes->size(), bytes->data());
  reading.miss = error != 0 ? MissReason::unreadable : MissReason::none;
  if (error != 0) reading.why = error_text(error);
  return reading;
}

Reading PackLayer::read_part(const Pack& pack, const PackRow& row, PackPart part, std::string* bytes) {
  Reading reading;
  int error = 0;
  reading.bytes = row.bytes;
  reading.owner = pack.owner;
  const bool read = read_pack_bytes(services_.files, pack.file->get(), row, part, bytes, &error, &reading.why);
  reading.miss = error != 0 ? MissReason::unreadable : read ? MissReason::none : MissReason::damaged;
  return reading;
}

Reading PackLayer::read(const Pack& pack, const PackRow& row) {
  std::string bytes;
  Reading reading = read_part(pack, row, PackPart::whole, &bytes);
  if (reading.miss != MissReason::none) return reading;
  parse_into(reading, bytes);
  return if_trusted(std::move(reading), trust_, services_.files.user());
}

Reading PackLayer::read_head(const Pack& pack, const PackRow& row) {
  if (pack.index.form() == PackForm::plain) return read(pack, row);
  std::string bytes;
  Reading reading = read_part(pack, row, PackPart::head, &bytes);
  if (reading.miss != MissReason::none) return reading;
  parse_head_into(reading, bytes, row.entry_bytes());
  return if_trusted(std::move(reading), trust_, services_.files.user());
}

Reading PackLayer::describe(const Pack& pack, const PackRow& row) {
  if (pack.index.form() == PackForm::compressed) return read_head(pack, row);
  const auto first = [&](std::size_t most, std::string* bytes) { return read_first(pack, row, most, bytes); };
  return if_trusted(read_description(first), trust_, services_.files.user());
}

// A pack that cannot be read may have been replaced on its server: the name leads to the new one.
EntryPointer PackLayer::read_for(const PackPointer& pack, const PackRow& row, const Wanted& wanted) {
  Reading reading = read_head(*pack, row);
  if (reading.miss == MissReason::unreadable) {
    const PackPointer again = reopen(pack);
    const PackRow* const there = again ? again->index.find(row.what_hash, row.who_hash) : nullptr;
    if (there != nullptr) reading = read_head(*again, *there);
  }
  return accept(cat(path_, ":", row.key()), std::move(reading), wanted);
}

EntryPointer PackLayer::find_exact(const Key& key, const Rejected& rejected) {
  const PackPointer pack = open();
  const PackRow* const row = pack ? pack->index.find(key.what_hash, key.who_hash) : nullptr;
  return row == nullptr ? nullptr : read_for(pack, *row, {key.what, &key.who, rejected});
}

// The index shows which entry is the newest, so that only one is read.
EntryPointer PackLayer::find_match(const Key& key, const Rejected& rejected, bool* /*others*/) {
  const PackPointer pack = open();
  if (!pack) return nullptr;
  std::vector<PackRow> rows;
  for (const PackRow& row : pack->index.find(key.what_hash)) {
    if (key.who.empty() || row.who_hash != key.who_hash) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [](const PackRow& a, const PackRow& b) {
    return std::tie(a.compiler_order, a.created_unix_ns) > std::tie(b.compiler_order, b.created_unix_ns);
  });
  for (const PackRow& row : rows) {
    if (EntryPointer entry = read_for(pack, row, {key.what, nullptr, rejected})) return entry;
  }
  return nullptr;
}

std::vector<std::string> PackLayer::keys(const std::string& start) {
  std::vector<std::string> found;
  const PackPointer pack = open();
  if (!pack) return found;
  for (const PackRow& row : pack->index.rows()) {
    if (row.key().starts_with(start)) found.push_back(row.key());
  }
  return found;
}

std::vector<Item> PackLayer::list(Check check) {
  std::vector<Item> items;
  const PackPointer pack = open();
  if (!pack) return items;
  for (const PackRow& row : pack->index.rows())
    items.push_back(cache::describe(path_, row.key(), check == Check::whole ? read(*pack, row) : describe(*pack, row)));
  return items;
}

Reading PackLayer::load(const std::string& item_key) {
  Reading reading;
  const PackPointer pack = open();
  const PackRow* const row = pack ? pack->index.find_key(item_key) : nullptr;
  if (row != nullptr) return read(*pack, *row);
  if (!pack) reading.why = report().unusable;
  return reading;
}

LayerReport PackLayer::report() {
  open();
  const std::lock_guard lock(opening_);
  return {path_, "pack", false, hits_, unusable_};
}

}  // namespace quern::cache
