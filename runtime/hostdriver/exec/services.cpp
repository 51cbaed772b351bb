// The host driver's implementation of twin_abi.cuh: forwards from a thread to its set.
#include "base/text.h"
#include "hostdriver/exec/co_resident_set.h"

namespace quern::host {

using twin::Thread;

const twin::Services kServices = {
    [](Thread& t, twin::Access access, const void* address, unsigned bytes, twin::Site site) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->access(thread, access, address, bytes, site);
    },
    [](Thread& t, bool store, const void* address, unsigned bytes) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->raw_access(thread, store, address, bytes);
    },
    [](Thread& t, unsigned id, unsigned threads, twin::BlockVote vote, unsigned value, twin::Site site) {
      CudaThread& thread = CudaThread::of(t);
      return thread.set->barrier(thread, id, threads, vote, value, site);
    },
    [](Thread& t, unsigned mask, twin::Collective what, unsigned long long value, unsigned operand,
       twin::Site site) -> unsigned long long {
      CudaThread& thread = CudaThread::of(t);
      return thread.set->collective(thread, mask, what, value, operand, site);
    },
    [](Thread& t, twin::Site site) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->cluster_barrier(thread, site);
    },
    [](Thread& t, const void* address, unsigned rank, twin::Site site) {
      CudaThread& thread = CudaThread::of(t);
      return thread.set->cluster_map(thread, address, rank, site);
    },
    [](Thread& t, void* to, const void* value, void* barrier, twin::Site site) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->cluster_store(thread, to, value, barrier, site);
    },
    [](Thread& t, twin::Mbarrier what, void* barrier, unsigned value, twin::Site site) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->mbarrier(thread, what, barrier, value, site);
    },
    [](Thread& t, void* to, const void* from, unsigned bytes, void* barrier, twin::Site site) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->bulk_copy(thread, to, from, bytes, barrier, site);
    },
    [](Thread& t) { ++CudaThread::of(t).groups; },
    [](Thread& t, unsigned pending) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->bulk_wait(thread, pending);
    },
    [](Thread& t, void* to, const void* from, unsigned bytes, twin::Site site) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->own_copy(thread, to, from, bytes, site);
    },
    [](Thread& t) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->wait_for_own_copies(thread);
    },
    [](Thread& t, twin::Site site) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->yield(thread, site);
    },
    [](Thread& t, const char* what, twin::Site site) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->fail(thread, CUDA_ERROR_ASSERT, what, site);
    },
    [](Thread& t, long long index, long long count, twin::Site site) {
      CudaThread& thread = CudaThread::of(t);
      thread.set->fail(thread, CUDA_ERROR_ILLEGAL_ADDRESS,
                       cat("element ", index, " of an array of ", count, " in shared memory"), site);
    },
};

}  // namespace quern::host
