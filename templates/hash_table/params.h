// The kernels' parameter structs. Read by host and kernels.
#ifndef QUERN_HASH_TABLE_PARAMS_H_
#define QUERN_HASH_TABLE_PARAMS_H_

namespace quern::hash_table {

struct InsertParams {
  const void* keys;
  unsigned* words;  // [mask + 1]: a position plus 1, or 0
  unsigned count;
  unsigned mask;
};

struct WriteParams {
  const void* keys;
  unsigned* words;
  void* table;  // [mask + 1] entries
  unsigned mask;
};

struct FindParams {
  const void* keys;
  const void* table;
  long long* out;
  long long count;
  unsigned mask;
};

}  // namespace quern::hash_table

#endif  // QUERN_HASH_TABLE_PARAMS_H_
