// The sanitizer of this build. g++ and clang report it with different macros.
#ifndef QUERN_BASE_SANITIZERS_H_
#define QUERN_BASE_SANITIZERS_H_

#if defined(__has_feature)
#define QUERN_HAS_FEATURE(name) __has_feature(name)
#else
#define QUERN_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || QUERN_HAS_FEATURE(address_sanitizer)
#define QUERN_ADDRESS_SANITIZER 1
#else
#define QUERN_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || QUERN_HAS_FEATURE(thread_sanitizer)
#define QUERN_THREAD_SANITIZER 1
#else
#define QUERN_THREAD_SANITIZER 0
#endif

#undef QUERN_HAS_FEATURE

#endif  // QUERN_BASE_SANITIZERS_H_
