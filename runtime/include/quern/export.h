// QUERN_API marks what libquern.so exports; everything else is hidden.
#ifndef QUERN_EXPORT_H_
#define QUERN_EXPORT_H_

#define QUERN_API __attribute__((visibility("default")))

#endif  // QUERN_EXPORT_H_
