// Coalesces concurrent runs for one key: one thread runs, the others wait for its result.
#ifndef QUERN_BASE_SINGLE_FLIGHT_H_
#define QUERN_BASE_SINGLE_FLIGHT_H_

#include <sys/types.h>
#include <unistd.h>

#include <exception>
#include <future>
#include <unordered_map>
#include <utility>

#include "base/fork_barrier.h"
#include "quern/error.h"

namespace quern {

// Thread-safe. The lock is held for a map operation, never during a run. Waiters get a copy of the Value.
template <class Name, class Value, class Hash>
class SingleFlight {
 public:
  // Calls `lead` and returns or throws what it does; if another thread is running for this name, waits for that
  // thread's result instead. `led` says which it was. REQUIRES: `lead` does not call this with the same name.
  template <class Lead>
  Value run(const Name& name, const Lead& lead, bool* led) {
    std::promise<Value> promise;
    std::shared_future<Value> flight = join(name, promise, led);
    if (!*led) return wait(flight);
    return fly(name, promise, lead);
  }

 private:
  struct Flight {
    std::shared_future<Value> outcome;
    ::pid_t process = 0;  // in a forked child, the parent's flights never finish
  };

  std::shared_future<Value> join(const Name& name, std::promise<Value>& promise, bool* led) {
    const std::lock_guard lock(mutex_);
    Flight& flight = flights_[name];
    const ::pid_t self = ::getpid();
    *led = flight.process != self;
    if (*led) flight = {promise.get_future().share(), self};
    return flight.outcome;
  }

  // Each waiter gets its own Error to throw: what() and callers that add a field modify it.
  static Value wait(const std::shared_future<Value>& flight) {
    try {
      return flight.get();
    } catch (const Error& error) {
      throw Error(error);
    }
  }

  // Removes the key before notifying the waiters, so that a retry starts a new run.
  template <class Lead>
  Value fly(const Name& name, std::promise<Value>& promise, const Lead& lead) {
    try {
      Value value = lead();
      land(name);
      promise.set_value(value);
      return value;
    } catch (const Error& error) {
      land(name);
      promise.set_exception(std::make_exception_ptr(Error(error)));
      throw;
    } catch (...) {
      land(name);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

  void land(const Name& name) {
    const std::lock_guard lock(mutex_);
    flights_.erase(name);
  }

  ForkSafeMutex mutex_;
  std::unordered_map<Name, Flight, Hash> flights_;
};

}  // namespace quern

#endif  // QUERN_BASE_SINGLE_FLIGHT_H_
