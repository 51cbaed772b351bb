#include "cache/transfer.h"

#include <fcntl.h>

#include <functional>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "cache/pack.h"
#include "cache/trust.h"
#include "quern/error.h"

namespace quern::cache {
namespace {

// Sorted in the order of a pack.
using Sources = std::map<std::string, std::function<EntryPointer()>>;

Transfer write(PackWriter& writer, const Sources& sources) {
  Transfer done;
  for (const auto& [key, source] : sources) {
    if (const EntryPointer entry = source()) {
      writer.add(*entry);
    } else {
      ++done.damaged;
    }
  }
  done.entries = writer.size();
  writer.finish();
  done.bytes = writer.bytes();
  return done;
}

// A pack given by the user, read as it is.
class NamedPack {
 public:
  // `own`: it must belong to the user.
  explicit NamedPack(FileSystem& files, const std::string& path, bool own = false)
      : files_(files), file_(files, path, O_RDONLY | O_NONBLOCK) {
    std::string why = file_.error() != 0 ? error_text(file_.error()) : std::string();
    FileStatus status;
    if (why.empty()) why = error_text_or_empty(files.status(file_.get(), &status));
    if (why.empty() && status.kind != FileKind::regular) why = "is not a plain file";
    if (why.empty()) index_ = read_pack_index(files, file_.get(), status.bytes, &why);
    if (!index_) throw Error(Code::bad_input, Stage::store, cat(path, " is not a readable pack: ", why));
    if (own) why = why_untrusted(status, FileKind::regular, Trust{}, files.user());
    if (!why.empty())
      throw Error(
          Code::bad_input, Stage::store,
          cat(path, " ", why, ". Nothing is added to it, because its images would become yours. If you trust them, ",
              "make it yours with cp to another name; else name another file"));
  }
  const std::vector<PackRow>& rows() const { return index_->rows(); }
  PackForm form() const { return index_->form(); }
  EntryPointer entry(const PackRow& row) const {
    std::string bytes;
    auto entry = read_pack_entry(files_, file_.get(), row, &bytes, nullptr);
    if (!entry || item_key_of(*entry) != row.key()) return nullptr;
    return std::make_shared<const Entry>(*std::move(entry));
  }

 private:
  static std::string error_text_or_empty(long result) { return result < 0 ? error_text(error_of(result)) : ""; }
  FileSystem& files_;
  OpenFile file_;
  std::optional<PackIndex> index_;
};

bool exists(FileSystem& files, const std::string& path) {
  FileStatus status;
  return files.status(path, &status) == 0;
}

// Otherwise each image would evict one that was imported earlier.
void require_room(Store& store, const std::string& path, const std::vector<PackRow>& rows) {
  const Limits limits = store.limits();
  std::uint64_t bytes = 0;
  for (const PackRow& row : rows) bytes += disk_bytes(row.entry_bytes());
  if (rows.size() <= limits.entries && bytes <= limits.bytes) return;
  throw Error(Code::bad_input, Stage::store,
              cat(path, " has ", rows.size(), " images that take ", bytes, " bytes, and ", store.directory(),
                  " may hold ", limits.entries, " images and ", limits.bytes,
                  " bytes: nothing was imported. Raise QUERN_CACHE_MAX_ENTRIES or QUERN_CACHE_MAX_BYTES, or use the ",
                  "pack where it is with QUERN_CACHE_LAYERS=", path));
}

}  // namespace

Transfer export_pack(Store& store, const std::string& path, PackForm form, FileSystem& files) {
  require_pack_or_nothing(path, files);
  Sources sources;
  std::size_t damaged = 0;
  for (const Item& item : store.list(Check::header)) {
    if (item.damage.empty())
      sources.try_emplace(item.key, [&store, key = item.key] { return store.load(key, nullptr); });
    if (!item.damage.empty() && !item.newer) ++damaged;
  }
  PackWriter writer(files, path);
  writer.set_form(form);
  Transfer done = write(writer, sources);
  done.damaged += damaged;
  return done;
}

// Reads the existing pack under the lock, so that entries added by another process meanwhile are kept.
Transfer add_to_pack(const std::vector<EntryPointer>& entries, const std::string& path, PackForm form,
                     FileSystem& files) {
  Sources sources;
  for (const EntryPointer& entry : entries) sources.try_emplace(item_key_of(*entry), [entry] { return entry; });
  PackWriter writer(files, path);
  writer.set_form(form);
  if (!exists(files, path)) return write(writer, sources);
  const NamedPack before(files, path, true);
  if (before.form() == PackForm::compressed) writer.set_form(PackForm::compressed);
  for (const PackRow& row : before.rows())
    sources.try_emplace(row.key(), [&before, &row] { return before.entry(row); });
  return write(writer, sources);
}

void require_pack_or_nothing(const std::string& path, FileSystem& files) {
  FileStatus folder;
  const std::string parent = parent_directory(path);
  if (const int error = error_of(files.status(parent, &folder)))
    throw Error(Code::bad_input, Stage::store, cat(path, " cannot be written: ", parent, ": ", error_text(error)));
  if (exists(files, path)) const NamedPack pack(files, path);
}

void require_own_pack_or_nothing(const std::string& path, FileSystem& files) {
  require_pack_or_nothing(path, files);
  if (exists(files, path)) const NamedPack pack(files, path, true);
}

Transfer import_pack(Store& store, const std::string& path, bool cpu_code, FileSystem& files) {
  const NamedPack pack(files, path);
  Transfer done;
  require_room(store, path, pack.rows());
  for (const PackRow& row : pack.rows()) {
    const EntryPointer entry = pack.entry(row);
    if (entry == nullptr) {
      ++done.damaged;
    } else if (!cpu_code && is_cpu_code(entry->what)) {
      ++done.refused;
    } else if (store.keeps_for_all(row.key())) {
      ++done.known;
    } else {
      Entry marked = *entry;
      marked.prewarmed = true;
      store.write(marked, Sync::later);
      ++done.entries;
      done.bytes += row.entry_bytes();
    }
  }
  if (done.entries != 0) store.sync();
  return done;
}

}  // namespace quern::cache
