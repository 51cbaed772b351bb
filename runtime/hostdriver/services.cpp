// The host driver's side of twin_abi.cuh: from a thread to the gang that runs it.
#include "base/text.h"
#include "hostdriver/gang.h"

namespace quern::host {

using twin::Thread;

const twin::Services kServices = {
    [](Thread& t, twin::Access access, const void* address, unsigned bytes, twin::Site site) {
      Strand& strand = Strand::of(t);
      strand.gang->access(strand, access, address, bytes, site);
    },
    [](Thread& t, bool store, const void* address, unsigned bytes) {
      Strand& strand = Strand::of(t);
      strand.gang->raw_access(strand, store, address, bytes);
    },
    [](Thread& t, unsigned id, unsigned threads, twin::BlockVote vote, unsigned value, twin::Site site) {
      Strand& strand = Strand::of(t);
      return strand.gang->barrier(strand, id, threads, vote, value, site);
    },
    [](Thread& t, unsigned mask, twin::Collective what, unsigned long long value, unsigned operand,
       twin::Site site) -> unsigned long long {
      Strand& strand = Strand::of(t);
      return strand.gang->collective(strand, mask, what, value, operand, site);
    },
    [](Thread& t, twin::Site site) {
      Strand& strand = Strand::of(t);
      strand.gang->cluster_barrier(strand, site);
    },
    [](Thread& t, const void* address, unsigned rank, twin::Site site) {
      Strand& strand = Strand::of(t);
      return strand.gang->cluster_map(strand, address, rank, site);
    },
    [](Thread& t, void* to, const void* value, void* barrier, twin::Site site) {
      Strand& strand = Strand::of(t);
      strand.gang->cluster_store(strand, to, value, barrier, site);
    },
    [](Thread& t, twin::Mbarrier what, void* barrier, unsigned value, twin::Site site) {
      Strand& strand = Strand::of(t);
      strand.gang->mbarrier(strand, what, barrier, value, site);
    },
    [](Thread& t, void* to, const void* from, unsigned bytes, void* barrier, twin::Site site) {
      Strand& strand = Strand::of(t);
      strand.gang->bulk_copy(strand, to, from, bytes, barrier, site);
    },
    [](Thread& t) { ++Strand::of(t).groups; },
    [](Thread& t, unsigned pending) {
      Strand& strand = Strand::of(t);
      strand.gang->bulk_wait(strand, pending);
    },
    [](Thread& t, twin::Site site) {
      Strand& strand = Strand::of(t);
      strand.gang->yield(strand, site);
    },
    [](Thread& t, const char* what, twin::Site site) {
      Strand& strand = Strand::of(t);
      strand.gang->fail(strand, CUDA_ERROR_ASSERT, what, site);
    },
    [](Thread& t, long long index, long long count, twin::Site site) {
      Strand& strand = Strand::of(t);
      strand.gang->fail(strand, CUDA_ERROR_ILLEGAL_ADDRESS,
                        cat("element ", index, " of an array of ", count, " in shared memory"), site);
    },
};

}  // namespace quern::host
