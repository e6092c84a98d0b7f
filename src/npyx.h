/*
 * npyx: a codec for .npy, .npz and .ten files. This header is all of it; docs/architecture.md shows the
 * floors.
 */
#ifndef NPYX_H
#define NPYX_H

#include "array/array.h"
#include "array/dtype.h"
#include "array/view.h"
#include "base/bytes.h"
#include "base/host.h"
#include "base/names.h"
#include "base/siphash.h"
#include "base/status.h"
#include "base/utf8.h"
#include "base/wide_integer.h"
#include "format/archive.h"
#include "format/archive_write.h"
#include "format/header_npy.h"
#include "io/file_system.h"
#include "io/first_bytes.h"
#include "io/read_ahead.h"
#include "io/root.h"
#include "io/sink.h"
#include "io/source.h"
#include "io/target.h"
#include "item/convert.h"
#include "item/element.h"
#include "item/encode.h"
#include "item/filter.h"
#include "stat/difference.h"
#include "stat/histogram.h"
#include "stat/reduction.h"
#include "stat/stats.h"
#include "text/datetime.h"
#include "text/json_text.h"
#include "text/literal.h"
#include "text/narrow_float.h"
#include "text/number_text.h"
#include "walk/reader.h"

#endif
