// The columns form on the host.
#ifndef QUERN_MXFP8_COLUMNS_H_
#define QUERN_MXFP8_COLUMNS_H_

#include "mxfp8/params.h"
#include "mxfp8/quantize.h"

namespace quern::mxfp8 {

// Whether the problem is one of matrices of at most 32 rows, of which only transposed blocks across the rows are made,
// in lines without gaps.
bool has_short_columns(const Mxfp8& p);

Config columns_default(const Mxfp8& p, const DeviceModel& model);
void specialize_columns(const Mxfp8& p, const Config& config, Spec& spec);  // an image for each number of rows
void launch_columns(const Mxfp8& p, const DeviceModel& model, const Config& config, ColumnParams& params,
                    Launch& launch);

// Constraints, for the family's table.
bool columns_fit_registers(const Mxfp8& p, const Target&, const Config& c);
bool columns_fit_shared(const Mxfp8& p, const Target&, const Config& c);

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_COLUMNS_H_
