#ifndef QUERN_COMMON_VECTOR_CUH_
#define QUERN_COMMON_VECTOR_CUH_

#include "common/device.cuh"

namespace quern::common {

// Data of one memory access: 1, 2, 4, 8, 16 or 32 bytes in registers, `w[0]` being the lowest address. Words are u32
// except for the two smallest. Elements are reached by shifts (`code_at`), so that nothing forces it into local memory.
template <int Bytes>
struct alignas(Bytes) Vector {
  using Word = u32;
  static constexpr int kWords = Bytes / 4;
  Word w[kWords];
};

template <>
struct alignas(2) Vector<2> {
  using Word = u16;
  static constexpr int kWords = 1;
  Word w[1];
};

template <>
struct Vector<1> {
  using Word = u8;
  static constexpr int kWords = 1;
  Word w[1];
};

// Cache hint of a read. `once` and `keep` use the read-only path: no thread may write the bytes while the kernel runs,
// and ptxas may then move them past the writes of other iterations when it unrolls a loop. Hints never change a
// result; those that a width or an architecture does not have are omitted.
enum class LoadHint {
  plain,
  stream,  // read once: L1::no_allocate, L2::evict_first
  once,    // the same, read-only
  keep,    // read by many: evict-last, read-only
};

enum class StoreHint {
  plain,
  stream,  // not read again soon: evict-first
};

#ifdef __CUDA_ARCH__

// The widest single access; a wider vector is made of several.
#if __CUDA_ARCH__ >= 1000
constexpr int kMaxAccess = 32;
#else
constexpr int kMaxAccess = 16;
#endif

// One asm statement for each width; L2 priorities exist for 32 bytes only. All except `keep` are volatile, which keeps
// them in program order: reads written before the first write are all in flight before it. Those that may see writes
// clobber memory too. IF and END enclose an instruction with a condition, the operand after the others, on a line of
// its own, since PTX is read by lines (compiler/ptx.h); OUT is the constraint of a result.
#define QUERN_LOAD(IF, END, OUT, Q, Q32, VOLATILE, ...)                                                               \
  u32* const w = words;                                                                                               \
  if constexpr (Bytes == 1) {                                                                                         \
    asm VOLATILE(IF("%2") "ld.global" Q ".u8 %0, [%1];" END : OUT(w[0]) : "l"(from)__VA_ARGS__);                      \
  } else if constexpr (Bytes == 2) {                                                                                  \
    asm VOLATILE(IF("%2") "ld.global" Q ".u16 %0, [%1];" END : OUT(w[0]) : "l"(from)__VA_ARGS__);                     \
  } else if constexpr (Bytes == 4) {                                                                                  \
    asm VOLATILE(IF("%2") "ld.global" Q ".u32 %0, [%1];" END : OUT(w[0]) : "l"(from)__VA_ARGS__);                     \
  } else if constexpr (Bytes == 8) {                                                                                  \
    asm VOLATILE(IF("%3") "ld.global" Q ".v2.u32 {%0, %1}, [%2];" END : OUT(w[0]), OUT(w[1]) : "l"(from)__VA_ARGS__); \
  } else if constexpr (Bytes == 16) {                                                                                 \
    asm VOLATILE(IF("%5") "ld.global" Q ".v4.u32 {%0, %1, %2, %3}, [%4];" END                                         \
                 : OUT(w[0]), OUT(w[1]), OUT(w[2]), OUT(w[3])                                                         \
                 : "l"(from)__VA_ARGS__);                                                                             \
  } else {                                                                                                            \
    asm VOLATILE(IF("%9") "ld.global" Q Q32 ".v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];" END                     \
                 : OUT(w[0]), OUT(w[1]), OUT(w[2]), OUT(w[3]), OUT(w[4]), OUT(w[5]), OUT(w[6]), OUT(w[7])             \
                 : "l"(from)__VA_ARGS__);                                                                             \
  }
#define QUERN_ALWAYS(CONDITION)
#define QUERN_IF(CONDITION) "{\n .reg .pred p;\n setp.ne.u32 p, " CONDITION ", 0;\n @p "

#define QUERN_STORE(IF, END, Q, Q32, ...)                                                                             \
  if constexpr (Bytes == 1) {                                                                                         \
    asm volatile(IF("%2") "st.global" Q ".u8 [%0], %1;" END ::"l"(to), "r"(w[0])__VA_ARGS__ : "memory");              \
  } else if constexpr (Bytes == 2) {                                                                                  \
    asm volatile(IF("%2") "st.global" Q ".u16 [%0], %1;" END ::"l"(to), "r"(w[0])__VA_ARGS__ : "memory");             \
  } else if constexpr (Bytes == 4) {                                                                                  \
    asm volatile(IF("%2") "st.global" Q ".u32 [%0], %1;" END ::"l"(to), "r"(w[0])__VA_ARGS__ : "memory");             \
  } else if constexpr (Bytes == 8) {                                                                                  \
    asm volatile(IF("%3") "st.global" Q ".v2.u32 [%0], {%1, %2};" END ::"l"(to), "r"(w[0]), "r"(w[1])__VA_ARGS__      \
                 : "memory");                                                                                         \
  } else if constexpr (Bytes == 16) {                                                                                 \
    asm volatile(IF("%5") "st.global" Q ".v4.u32 [%0], {%1, %2, %3, %4};" END ::"l"(to), "r"(w[0]), "r"(w[1]),        \
                 "r"(w[2]), "r"(w[3])__VA_ARGS__                                                                      \
                 : "memory");                                                                                         \
  } else {                                                                                                            \
    asm volatile(IF("%9") "st.global" Q32 ".v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" END ::"l"(to), "r"(w[0]), \
                 "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])__VA_ARGS__               \
                 : "memory");                                                                                         \
  }

template <int Bytes, LoadHint H>
QUERN_DEVICE void load_words(u32* words, const void* from) {
  if constexpr (H == LoadHint::plain) {
    QUERN_LOAD(QUERN_ALWAYS, , "=r", "", "", volatile, : "memory")
  } else if constexpr (H == LoadHint::stream) {
    QUERN_LOAD(QUERN_ALWAYS, , "=r", ".L1::no_allocate", ".L2::evict_first", volatile, : "memory")
  } else if constexpr (H == LoadHint::once) {
    QUERN_LOAD(QUERN_ALWAYS, , "=r", ".nc.L1::no_allocate", ".L2::evict_first", volatile, )
  } else {
    QUERN_LOAD(QUERN_ALWAYS, , "=r", ".nc.L1::evict_last", ".L2::evict_last", , )
  }
}

template <int Bytes, LoadHint H>
QUERN_DEVICE void load_words_if(u32 condition, u32* words, const void* from) {
  if constexpr (H == LoadHint::plain) {
    QUERN_LOAD(QUERN_IF, "\n}", "+r", "", "", volatile, , "r"(condition) : "memory")
  } else if constexpr (H == LoadHint::stream) {
    QUERN_LOAD(QUERN_IF, "\n}", "+r", ".L1::no_allocate", ".L2::evict_first", volatile, , "r"(condition) : "memory")
  } else if constexpr (H == LoadHint::once) {
    QUERN_LOAD(QUERN_IF, "\n}", "+r", ".nc.L1::no_allocate", ".L2::evict_first", volatile, , "r"(condition))
  } else {
    QUERN_LOAD(QUERN_IF, "\n}", "+r", ".nc.L1::evict_last", ".L2::evict_last", , , "r"(condition))
  }
}

template <int Bytes, StoreHint H>
QUERN_DEVICE void store_words(void* to, const u32* w) {
  if constexpr (H == StoreHint::plain) {
    QUERN_STORE(QUERN_ALWAYS, , "", "")
  } else {
    QUERN_STORE(QUERN_ALWAYS, , ".cs", ".L1::no_allocate.L2::evict_first")
  }
}

template <int Bytes, StoreHint H>
QUERN_DEVICE void store_words_if(u32 condition, void* to, const u32* w) {
  if constexpr (H == StoreHint::plain) {
    QUERN_STORE(QUERN_IF, "\n}", "", "", , "r"(condition))
  } else {
    QUERN_STORE(QUERN_IF, "\n}", ".cs", ".L1::no_allocate.L2::evict_first", , "r"(condition))
  }
}

#undef QUERN_LOAD
#undef QUERN_ALWAYS
#undef QUERN_IF
#undef QUERN_STORE

template <int Bytes, LoadHint H = LoadHint::plain>
QUERN_DEVICE Vector<Bytes> load(const void* from) {
  constexpr int kStep = Bytes < kMaxAccess ? Bytes : kMaxAccess;
  Vector<Bytes> vector;
  if constexpr (Bytes < 4) {
    u32 word;
    load_words<Bytes, H>(&word, from);
    vector.w[0] = static_cast<typename Vector<Bytes>::Word>(word);
  } else {
    QUERN_UNROLL for (int i = 0; i < Bytes; i += kStep)
        load_words<kStep, H>(vector.w + i / 4, static_cast<const u8*>(from) + i);
  }
  return vector;
}

// A predicated load: zeros, and no access, where the condition is false. Without a branch, several loads whose
// addresses were loaded too are in flight at once.
template <int Bytes, LoadHint H = LoadHint::plain>
QUERN_DEVICE Vector<Bytes> load_if(bool condition, const void* from) {
  constexpr int kStep = Bytes < kMaxAccess ? Bytes : kMaxAccess;
  Vector<Bytes> vector = {};
  if constexpr (Bytes < 4) {
    u32 word = 0;
    load_words_if<Bytes, H>(condition, &word, from);
    vector.w[0] = static_cast<typename Vector<Bytes>::Word>(word);
  } else {
    QUERN_UNROLL for (int i = 0; i < Bytes; i += kStep)
        load_words_if<kStep, H>(condition, vector.w + i / 4, static_cast<const u8*>(from) + i);
  }
  return vector;
}

template <int Bytes, StoreHint H = StoreHint::plain>
QUERN_DEVICE void store(void* to, const Vector<Bytes>& vector) {
  constexpr int kStep = Bytes < kMaxAccess ? Bytes : kMaxAccess;
  if constexpr (Bytes < 4) {
    const u32 word = vector.w[0];
    store_words<Bytes, H>(to, &word);
  } else {
    QUERN_UNROLL for (int i = 0; i < Bytes; i += kStep)
        store_words<kStep, H>(static_cast<u8*>(to) + i, vector.w + i / 4);
  }
}

// A predicated store. Where a thread's loads are predicated too, it has no branch, which a load might wait for.
template <int Bytes, StoreHint H = StoreHint::plain>
QUERN_DEVICE void store_if(bool condition, void* to, const Vector<Bytes>& vector) {
  constexpr int kStep = Bytes < kMaxAccess ? Bytes : kMaxAccess;
  if constexpr (Bytes < 4) {
    const u32 word = vector.w[0];
    store_words_if<Bytes, H>(condition, to, &word);
  } else {
    QUERN_UNROLL for (int i = 0; i < Bytes; i += kStep)
        store_words_if<kStep, H>(condition, static_cast<u8*>(to) + i, vector.w + i / 4);
  }
}

#else

#ifdef QUERN_HOST_IMAGE
constexpr int kMaxAccess = QUERN_HOST_ARCH >= 100 ? 32 : 16;
#else
constexpr int kMaxAccess = 16;
#endif

template <int Bytes, LoadHint H = LoadHint::plain>
inline Vector<Bytes> load(const void* from QUERN_SITE) {
  constexpr int kStep = Bytes < kMaxAccess ? Bytes : kMaxAccess;
  for (int i = 0; i < Bytes; i += kStep) QUERN_WATCH(global_load, static_cast<const u8*>(from) + i, kStep);
  Vector<Bytes> vector;
  memcpy(&vector, from, Bytes);
  return vector;
}

template <int Bytes, LoadHint H = LoadHint::plain>
inline Vector<Bytes> load_if(bool condition, const void* from QUERN_SITE) {
  return condition ? load<Bytes, H>(from QUERN_PASS_SITE) : Vector<Bytes>{};
}

template <int Bytes, StoreHint H = StoreHint::plain>
inline void store(void* to, const Vector<Bytes>& vector QUERN_SITE) {
  constexpr int kStep = Bytes < kMaxAccess ? Bytes : kMaxAccess;
  for (int i = 0; i < Bytes; i += kStep) QUERN_WATCH(global_store, static_cast<u8*>(to) + i, kStep);
  memcpy(to, &vector, Bytes);
}

template <int Bytes, StoreHint H = StoreHint::plain>
inline void store_if(bool condition, void* to, const Vector<Bytes>& vector QUERN_SITE) {
  if (condition) store<Bytes, H>(to, vector QUERN_PASS_SITE);
}

#endif

// Element `i` of a vector seen as an array of unsigned `Code`s of 1, 2 or 4 bytes. Fold `i`: unroll the loop around it.
template <class Code, int Bytes>
QUERN_DEVICE Code code_at(const Vector<Bytes>& vector, int i) {
  constexpr int kPerWord = static_cast<int>(sizeof(vector.w[0]) / sizeof(Code));
  return static_cast<Code>(vector.w[i / kPerWord] >> (i % kPerWord * 8 * static_cast<int>(sizeof(Code)) & 31));
}

// Of the pieces of `Piece` bytes that a vector is of, the `i`th. Fold `i`.
template <int Piece, int Bytes>
QUERN_DEVICE Vector<Piece> piece_of(const Vector<Bytes>& vector, int i) {
  using Word = typename Vector<Piece>::Word;
  constexpr int kWords = Vector<Piece>::kWords;
  if constexpr (Piece == Bytes) {
    return vector;
  } else {
    Vector<Piece> piece;
    QUERN_UNROLL for (int w = 0; w < kWords; ++w) piece.w[w] = code_at<Word>(vector, i * kWords + w);
    return piece;
  }
}

// Puts element `i` into a vector whose elements from `i` on are still zero.
template <class Code, int Bytes>
QUERN_DEVICE void put_code(Vector<Bytes>& vector, int i, Code code) {
  using Word = typename Vector<Bytes>::Word;
  constexpr int kPerWord = static_cast<int>(sizeof(Word) / sizeof(Code));
  Word& word = vector.w[i / kPerWord];
  word = static_cast<Word>(word | static_cast<u32>(code) << (i % kPerWord * 8 * static_cast<int>(sizeof(Code)) & 31));
}

// The same of piece `i`.
template <int Piece, int Bytes>
QUERN_DEVICE void put_piece(Vector<Bytes>& vector, int i, const Vector<Piece>& piece) {
  constexpr int kWords = Vector<Piece>::kWords;
  if constexpr (Piece == Bytes) {
    vector = piece;
  } else {
    QUERN_UNROLL for (int w = 0; w < kWords; ++w) put_code(vector, i * kWords + w, piece.w[w]);
  }
}

}  // namespace quern::common

#endif  // QUERN_COMMON_VECTOR_CUH_
