// A list whose first entries need no memory of their own.
#ifndef QUERN_PYTHON_SMALL_H_
#define QUERN_PYTHON_SMALL_H_

#include <cstddef>
#include <type_traits>
#include <vector>

namespace quern::python {

// Entries are not initialized.
template <class T, std::size_t N>
class Small {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Small() {}  // NOLINT: not the entries
  Small(const Small&) = delete;
  Small& operator=(const Small&) = delete;

  T& add(const T& value) {
    if (size_ == N) more_.assign(first_, first_ + N);
    if (size_ < N) {
      first_[size_] = value;
    } else {
      more_.push_back(value);
    }
    return data()[size_++];
  }
  // Entries that were there are lost.
  void resize(std::size_t size) {
    more_.resize(size > N ? size : 0);
    size_ = size;
  }
  std::size_t size() const { return size_; }
  T* data() { return more_.empty() ? first_ : more_.data(); }
  const T* data() const { return more_.empty() ? first_ : more_.data(); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  std::size_t size_ = 0;
  T first_[N];
  std::vector<T> more_;
};

}  // namespace quern::python

#endif  // QUERN_PYTHON_SMALL_H_
