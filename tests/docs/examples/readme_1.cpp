// C++20. The first example of README.md.
#include QUERN_PAGE_EXAMPLE
