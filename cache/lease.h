// One build of a key at a time on a machine. A lease saves work and is never needed for correctness: whoever cannot
// have one builds all the same.
#ifndef QUERN_CACHE_LEASE_H_
#define QUERN_CACHE_LEASE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/fork_barrier.h"
#include "cache/services.h"

namespace quern::cache {

struct LeaseTimes {
  std::chrono::milliseconds beat{1000};      // how often an owner says that its process lives
  std::chrono::milliseconds expiry{10000};   // without a sign for so long, an owner is taken for dead or stopped
  std::chrono::milliseconds longest{60000};  // no build is waited for longer, whatever its owner says
  std::chrono::milliseconds poll{10};        // the longest sleep between two looks
};

// How long a caller waits for other processes at most, whatever they do, and whom it tells when it begins to wait.
struct Patience {
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  std::function<void()> begins;  // may be empty; called at most once for a key
};

// "MACHINE-what-who", as `take` makes them, or that with a "+".
bool is_lease(const std::string& file_name);

// Held by one build. The kernel ends it with the process; a forked child that lives on is told by the missing beats.
class Lease {
 public:
  Lease(Services& services, std::string path, std::unique_ptr<OpenFile> file, std::chrono::milliseconds beat);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  void beat(std::chrono::milliseconds every);
  Services& services_;
  const std::string path_;
  std::unique_ptr<OpenFile> file_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
  std::thread beating_;
};

// Thread-safe.
class Leases {
 public:
  // `dir` is made when it is needed.
  Leases(std::string dir, const LeaseTimes& times, Services& services)
      : dir_(std::move(dir)), times_(times), services_(services) {}

  // The lease of `name`; waits while another has it, looking at `done` now and then. Where the other one shows no sign
  // of life, or takes longer than `times` allow, one of those who wait gets a lease in its place, and the others wait
  // for that one as they did before. Null if `done` says true, if the successor lasts too long as well, `patience`
  // ends, or an owner ended without success (then all who waited go on at once, not one after the other), or if the
  // file system has no locks.
  std::unique_ptr<Lease> take(const std::string& name, const std::function<bool()>& done, const Patience& patience);

  // Removes what dead owners left behind: of this machine those that nobody holds, of others those without a sign of
  // life for longer than anybody waits.
  void sweep();

 private:
  enum class Attempt { taken, held, impossible };
  enum class Waited { enough, in_vain };  // for a lease, or for nothing more; for an owner that is to be given up
  Waited wait_at(const std::string& path, const std::function<bool()>& done, const Patience& patience,
                 std::unique_ptr<Lease>* lease);
  Attempt attempt(const std::string& path, std::unique_ptr<Lease>* lease, FileStatus* seen);
  std::unique_ptr<OpenFile> open(const std::string& path);
  bool may_be_held_elsewhere(const std::string& path);
  // Starts the names of this machine's leases: on some file servers locks end at the machine, and one that frees a
  // name which another one holds would let that one's processes build twice.
  std::string machine();

  const std::string dir_;
  const LeaseTimes times_;
  Services& services_;
  ForkSafeMutex mutex_;
  std::string machine_;  // empty until it was asked for
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_LEASE_H_
