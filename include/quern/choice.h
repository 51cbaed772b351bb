// The values of a choice field are written once, as a list. The enum of the problem's member and the names in problem
// texts are generated from it:
//
//   #define APP_ROUNDINGS(VALUE) VALUE(even) VALUE(down)
//   enum class Rounding : std::uint8_t { APP_ROUNDINGS(QUERN_CHOICE_VALUE) };
//
//   constexpr const char* kRoundings[] = {APP_ROUNDINGS(QUERN_CHOICE_NAME) nullptr};  // for choice_field
//
// A list that kernels use is in a file that they may include, <family>_choices.h.
#ifndef QUERN_CHOICE_H_
#define QUERN_CHOICE_H_

#define QUERN_CHOICE_VALUE(name) name,
#define QUERN_CHOICE_NAME(name) #name,

#endif  // QUERN_CHOICE_H_
