// At most one concurrent build per key and machine. A lease only saves work and is never needed for correctness: a
// process that cannot get one builds anyway.
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
  std::chrono::milliseconds beat{1000};      // heartbeat interval of an owner
  std::chrono::milliseconds expiry{10000};   // an owner without a heartbeat for this long counts as dead or stopped
  std::chrono::milliseconds longest{60000};  // maximum wait for one build, even with heartbeats
  std::chrono::milliseconds poll{10};        // the longest sleep between two checks
};

// The caller's limit on waiting for other processes, and its callback when a wait begins.
struct Patience {
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  std::function<void()> begins;  // may be empty; called at most once per key
};

// "MACHINE-what-who", as made by `take`, optionally with a "+".
bool is_lease(const std::string& file_name);

// Held by one build. The kernel releases it when the process ends; if a forked child keeps the lock alive, the missing
// heartbeats reveal it.
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
  // `dir` is created when needed.
  Leases(std::string dir, const LeaseTimes& times, Services& services)
      : dir_(std::move(dir)), times_(times), services_(services) {}

  // Acquires the lease of `name`; waits while another process holds it, polling `done`. If the owner shows no
  // heartbeat, or exceeds the limits in `times`, one of the waiting processes gets a successor lease, and the others
  // wait for that one in the same way. Returns null if `done` returns true, if the successor also exceeds its limits,
  // `patience` ends, an owner ended without success (then all waiting processes build at once, not one after the
  // other), or the file system has no locks.
  std::unique_ptr<Lease> take(const std::string& name, const std::function<bool()>& done, const Patience& patience);

  // Removes the files of dead owners: those that are unlocked and had no heartbeat for longer than any wait. A younger
  // file may be about to be locked by its owner, and on some file servers another machine's lock is not visible here.
  void sweep();

 private:
  enum class Attempt { taken, held, impossible };
  enum class Waited { enough, in_vain };  // enough: got the lease, or need none; in_vain: the owner timed out
  Waited wait_at(const std::string& path, const std::function<bool()>& done, const Patience& patience,
                 std::unique_ptr<Lease>* lease);
  Attempt attempt(const std::string& path, std::unique_ptr<Lease>* lease, FileStatus* seen);
  std::unique_ptr<OpenFile> open(const std::string& path);
  bool may_have_an_owner(const std::string& path);
  // The name prefix of this machine's leases. On some file servers locks are only visible within one machine; with a
  // shared name, one machine could remove a lease that another one holds, and processes there would build twice.
  std::string machine();

  const std::string dir_;
  const LeaseTimes times_;
  Services& services_;
  ForkSafeMutex mutex_;
  std::string machine_;  // empty until first needed
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_LEASE_H_
