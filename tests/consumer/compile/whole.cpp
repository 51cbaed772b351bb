// One file that includes everything, for compilers that get only pkg-config's flags.
#include <quern/quern.h>

#include <cstdio>

int main() {
  quern::Runtime runtime;
  for (const quern::Family* family : runtime.families()) std::printf("%s ", family->name);
  std::puts(QUERN_VERSION);
  return runtime.families().empty() ? 1 : 0;
}
