#ifndef QUERN_COMMON_SHARED_CUH_
#define QUERN_COMMON_SHARED_CUH_

#include "common/vector.cuh"

// Shared memory of a block. It is declared and accessed only through this file, so that the host driver sees every
// access and can report data races:
//
//   QUERN_SHARED(float, partial, 32);          at namespace scope: an array of 32 floats per block
//   partial.set(warp, sum);
//   __syncthreads();
//   const float first = partial.get(0);

#if defined(__CUDA_ARCH__) || defined(QUERN_HOST_IMAGE)

namespace quern::common {

// 1 to 32 bytes, aligned to as many; one access up to 16.
template <int Bytes>
QUERN_DEVICE Vector<Bytes> load_shared(const void* from QUERN_SITE) {
  QUERN_WATCH(shared_load, from, Bytes);
  return *static_cast<const Vector<Bytes>*>(from);
}
template <int Bytes>
QUERN_DEVICE void store_shared(void* to, const Vector<Bytes>& vector QUERN_SITE) {
  QUERN_WATCH(shared_store, to, Bytes);
  *static_cast<Vector<Bytes>*>(to) = vector;
}

#ifdef __CUDA_ARCH__

template <class T, int N>
struct SharedArray {
  static_assert(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0, "an access moves 1, 2, 4, 8 or 16 bytes");
  T elements[N];
  QUERN_DEVICE T get(int i) const { return elements[i]; }
  QUERN_DEVICE void set(int i, T value) { elements[i] = value; }
  QUERN_DEVICE T* at(int i) { return elements + i; }
};

#define QUERN_SHARED(T, name, n) static __shared__ ::quern::common::SharedArray<T, n> name

#else

// Known by its place in the shared memory of any block.
template <class T, int N>
class SharedArray {
  static_assert(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0, "an access moves 1, 2, 4, 8 or 16 bytes");

 public:
  SharedArray() : offset_(twin::reserve_shared(N * sizeof(T))) {}
  QUERN_TWIN_UNSEEN T get(int i QUERN_SITE) const {
    twin::watch(twin::Access::shared_load, element(i, site), sizeof(T), site);
    return *at(i);
  }
  QUERN_TWIN_UNSEEN void set(int i, T value QUERN_SITE) const {
    twin::watch(twin::Access::shared_store, element(i, site), sizeof(T), site);
    *at(i) = value;
  }
  QUERN_TWIN_UNSEEN T* at(int i) const { return reinterpret_cast<T*>(twin::self().shared + offset_) + i; }

 private:
  QUERN_TWIN_UNSEEN T* element(int i, twin::Site site) const {
    twin::Thread& t = twin::self();
    if (i < 0 || i >= N) t.services->outside(t, i, N, site);
    return at(i);
  }
  unsigned offset_;
};

#define QUERN_SHARED(T, name, n) static const ::quern::common::SharedArray<T, n> name

#endif

// The dynamic shared memory of the launch; aligned to 128 bytes.
QUERN_DEVICE u8* dynamic_shared() {
#ifdef __CUDA_ARCH__
  extern __shared__ __align__(128) u8 quern_dynamic_shared[];
  return quern_dynamic_shared;
#else
  return twin::self().shared + twin::static_shared_bytes;
#endif
}

// An array of words in the dynamic shared memory, from word `first` on.
class SharedWords {
 public:
  explicit QUERN_DEVICE SharedWords(u32 first) : at_(dynamic_shared() + first * 4) {}
  QUERN_DEVICE u32 get(u32 i) const { return load_shared<4>(at_ + i * 4).w[0]; }
  QUERN_DEVICE void set(u32 i, u32 word) const { store_shared<4>(at_ + i * 4, Vector<4>{{word}}); }
  // Returns what the word was.
  QUERN_DEVICE u32 add(u32 i, u32 addend) const { return atomicAdd(reinterpret_cast<u32*>(at_) + i, addend); }

 private:
  u8* at_;
};

// The same of 8 bytes each, from number `first` on. For block_prefix_sum too.
class SharedLongs {
 public:
  explicit QUERN_DEVICE SharedLongs(u32 first) : at_(dynamic_shared() + first * 8) {}
  QUERN_DEVICE u64 get(int i) const { return bit_cast<u64>(load_shared<8>(at_ + i * 8)); }
  QUERN_DEVICE void set(int i, u64 number) const { store_shared<8>(at_ + i * 8, bit_cast<Vector<8>>(number)); }

 private:
  u8* at_;
};

}  // namespace quern::common

#endif

#endif  // QUERN_COMMON_SHARED_CUH_
