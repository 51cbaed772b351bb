// Everything an application needs: the Runtime, plans, and the families that ship with the library.
#ifndef QUERN_QUERN_H_
#define QUERN_QUERN_H_

#include "quern/dtype.h"
#include "quern/error.h"
#include "quern/families.h"
#include "quern/family.h"
#include "quern/log.h"
#include "quern/options.h"
#include "quern/plan.h"
#include "quern/program.h"
#include "quern/runtime.h"
#include "quern/version.h"

#endif  // QUERN_QUERN_H_
