// The members of a struct under the names that they have in files and messages: one table for writing and reading.
//
//   constexpr auto members(const Round&) {
//     return std::tuple{required("a", &Round::a), always("b", &Round::b), optional("why", &Round::why)};
//   }
//
// A reader needs `required` members and leaves others that are missing as they are. A writer leaves out an `optional`
// member that has its default value, and writes all others.
#ifndef QUERN_BASE_MEMBERS_H_
#define QUERN_BASE_MEMBERS_H_

#include <tuple>

namespace quern {

enum class Presence { required, always, optional };

template <Presence P, class Struct, class T>
struct Member {
  static constexpr Presence presence = P;
  const char* name;
  T Struct::*place;
};

template <class Struct, class T>
constexpr Member<Presence::required, Struct, T> required(const char* name, T Struct::*place) {
  return {name, place};
}
template <class Struct, class T>
constexpr Member<Presence::always, Struct, T> always(const char* name, T Struct::*place) {
  return {name, place};
}
template <class Struct, class T>
constexpr Member<Presence::optional, Struct, T> optional(const char* name, T Struct::*place) {
  return {name, place};
}

template <class T>
concept HasMembers = requires(const T& object) {
  members(object);
};

// Calls visit(member, value) for each member of `object` in the order of its table.
template <class T, class Visit>
void each_member(T& object, const Visit& visit) {
  std::apply([&](const auto&... member) { (visit(member, object.*member.place), ...); }, members(object));
}

}  // namespace quern

#endif  // QUERN_BASE_MEMBERS_H_
