#include "cache/trust.h"

#include <algorithm>
#include <charconv>

#include "base/files.h"
#include "base/text.h"
#include "cache/key.h"
#include "quern/error.h"

namespace quern::cache {
namespace {

constexpr std::uint32_t kWritableByOthers = 0022;
constexpr std::uint32_t kSticky = 01000;
constexpr std::uint32_t kRoot = 0;
constexpr std::string_view kUids = "uids=";
constexpr std::string_view kCpuCode = ",host";

const char* noun(FileKind kind) {
  static constexpr const char* kNouns[] = {"a plain file", "a directory", "a symbolic link", "a special file"};
  return kNouns[static_cast<int>(kind)];
}

std::string octal(std::uint32_t mode) {
  std::string digits = "0";
  for (int shift = 6; shift >= 0; shift -= 3) digits += static_cast<char>('0' + ((mode >> shift) & 7U));
  return digits;
}

bool accepts(const Trust& trust, std::uint32_t owner, std::uint32_t user) {
  const bool listed = std::find(trust.uids.begin(), trust.uids.end(), owner) != trust.uids.end();
  const bool own = owner == user && (user != overflow_uid() || trust.overflow_is_user);
  switch (trust.owners) {
    case Trust::Owners::user:
      return own;
    case Trust::Owners::owner:
      return own || owner == kRoot;
    case Trust::Owners::uids:
      return own || owner == kRoot || listed;
    case Trust::Owners::any:
      return true;
  }
  return false;
}

std::string owner_fault(std::uint32_t owner, const Trust& trust, std::uint32_t user) {
  std::string why = cat("belongs to uid ", owner, ", this process is uid ", user);
  if (owner == overflow_uid()) why += " (a file server or user namespace shows every unknown owner like this)";
  if (owner == user) return cat(why, "; QUERN_CACHE_TRUST=mode-only would accept it");
  if (trust.owners != Trust::Owners::user)
    why += cat("; QUERN_CACHE_TRUST=uids=", owner, " would accept it, mode-only any owner");
  return why;
}

std::string owners_text(const Trust& trust) {
  std::vector<std::string> uids;
  for (const std::uint32_t uid : trust.uids) uids.push_back(cat(uid));
  switch (trust.owners) {
    case Trust::Owners::user:
      return "the effective user";
    case Trust::Owners::owner:
      return "owner";
    case Trust::Owners::uids:
      return cat(kUids, join(uids, ","));
    case Trust::Owners::any:
      return "mode-only";
  }
  return {};
}

std::vector<std::uint32_t> parse_uids(std::string_view text) {
  std::vector<std::uint32_t> uids;
  for (const std::string_view part : split(text, ',')) {
    std::uint32_t uid = 0;
    const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), uid);
    if (status != std::errc() || end != part.data() + part.size()) return {};
    uids.push_back(uid);
  }
  return uids;
}

// "/a/b" -> "/", "/a", "/a/b".
std::vector<std::string> components(std::string path) {
  std::vector<std::string> all = {path};
  for (std::string parent = parent_directory(path); parent.size() < path.size(); parent = parent_directory(path)) {
    all.push_back(parent);
    path = parent;
  }
  std::reverse(all.begin(), all.end());
  return all;
}

std::string component_fault(const FileStatus& status, const Trust& trust, std::uint32_t user) {
  if (!accepts(trust, status.owner, user)) return owner_fault(status.owner, trust, user);
  if (status.kind == FileKind::link || (status.mode & kSticky) != 0) return {};
  if ((status.mode & kWritableByOthers) != 0)
    return cat("mode ", octal(status.mode), " lets others write there; chmod go-w");
  return {};
}

}  // namespace

std::uint32_t overflow_uid() {
  static const std::uint32_t uid = [] {
    constexpr std::uint32_t kUsual = 65534;
    const std::string text = read_file("/proc/sys/kernel/overflowuid").value_or("");
    return static_cast<std::uint32_t>(parse_integer(trim(text)).value_or(kUsual));
  }();
  return uid;
}

Trust parse_trust(std::string_view text, std::string_view variable) {
  const bool cpu_code = text.ends_with(kCpuCode);
  const std::string_view owners = text.substr(0, text.size() - (cpu_code ? kCpuCode.size() : 0));
  if (owners == "owner") return {Trust::Owners::owner, {}, false, cpu_code};
  if (owners == "mode-only") return {Trust::Owners::any, {}, false, cpu_code};
  if (owners.substr(0, kUids.size()) == kUids) {
    if (auto uids = parse_uids(owners.substr(kUids.size())); !uids.empty())
      return {Trust::Owners::uids, std::move(uids), false, cpu_code};
  }
  throw Error(Code::bad_input, Stage::problem,
              cat("invalid value ", variable, "=", text,
                  "; expected owner, uids=0,1000 (user ids) or mode-only, each optionally followed by \",host\" for "
                  "CPU code too"));
}

std::string trust_text(const Trust& trust) { return cat(owners_text(trust), trust.cpu_code ? kCpuCode : ""); }

bool is_cpu_code(std::string_view what) {
  const auto fields = parse_key_text(what);
  return std::find(fields.begin(), fields.end(), std::pair<std::string, std::string>("target", "host")) != fields.end();
}

std::string why_code_untrusted(std::string_view what, std::uint32_t owner, const Trust& trust, std::uint32_t user) {
  if (trust.cpu_code || accepts({Trust::Owners::user, {}, trust.overflow_is_user}, owner, user) || !is_cpu_code(what))
    return {};
  return cat("is CPU code (target host) of uid ", owner,
             ", which this process would load; QUERN_CACHE_TRUST=", owners_text(trust), kCpuCode, " would accept it");
}

std::string why_untrusted(const FileStatus& status, FileKind kind, const Trust& trust, std::uint32_t user) {
  if (status.kind != kind) return cat("is ", noun(status.kind), ", not ", noun(kind));
  if (!accepts(trust, status.owner, user)) return owner_fault(status.owner, trust, user);
  if ((status.mode & kWritableByOthers) != 0)
    return cat("mode ", octal(status.mode), " lets others write there; chmod go-w");
  return {};
}

std::string untrusted_remedy(const std::string& dir, bool own) {
  const std::string chmod = cat("`chmod -R go-w ", dir, "` removes the write permission of others");
  if (!own) return cat(chmod, "; its owner must run it");
  return cat(chmod, ", and `quern cache prune` removes all other untrusted files");
}

std::string why_path_untrusted(FileSystem& files, const std::string& path, const Trust& trust, int* error) {
  std::string canonical;
  *error = error_of(files.resolve(path, &canonical));
  if (*error != 0) return cat(path, ": ", error_text(*error));
  std::vector<std::string> all = components(path);
  if (canonical != path) {
    for (std::string& component : components(canonical)) all.push_back(std::move(component));
  }
  for (const std::string& component : all) {
    FileStatus status;
    *error = error_of(files.status(component, &status));
    if (*error != 0) return cat(component, ": ", error_text(*error));
    if (std::string why = component_fault(status, trust, files.user()); !why.empty()) return cat(component, ": ", why);
  }
  return {};
}

}  // namespace quern::cache
