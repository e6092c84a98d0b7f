/*
 * npyx: a codec for .npy, .npz and .ten files. This header is all of it; docs/architecture.md shows the
 * floors.
 */
#ifndef NPYX_H
#define NPYX_H

#include "archive.h"
#include "archive_write.h"
#include "array.h"
#include "blocks.h"
#include "bytes.h"
#include "convert.h"
#include "datetime.h"
#include "difference.h"
#include "dtype.h"
#include "element.h"
#include "encode.h"
#include "expect.h"
#include "file_system.h"
#include "filter.h"
#include "header_npy.h"
#include "header_npy_write.h"
#include "histogram.h"
#include "histogram_place.h"
#include "host.h"
#include "json_text.h"
#include "literal.h"
#include "lookalike.h"
#include "narrow_float.h"
#include "number_text.h"
#include "read_ahead.h"
#include "reader.h"
#include "reduction.h"
#include "reshape.h"
#include "root.h"
#include "sink.h"
#include "siphash.h"
#include "subview.h"
#include "slice.h"
#include "source.h"
#include "stats.h"
#include "status.h"
#include "target.h"
#include "utf8.h"
#include "view.h"
#include "wide_integer.h"

#endif
