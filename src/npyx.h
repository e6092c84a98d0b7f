/*
 * npyx: a codec for .npy, .npz and .ten files. This header is all of it, with what these bring along;
 * docs/architecture.md shows the floors.
 */
#ifndef NPYX_H
#define NPYX_H

#include "base/names.h"
#include "base/siphash.h"
#include "format/archive.h"
#include "format/archive_write.h"
#include "format/header.h"
#include "format/png_write.h"
#include "format/samples.h"
#include "format/tar.h"
#include "io/file_system.h"
#include "io/first_bytes.h"
#include "io/root.h"
#include "io/sink.h"
#include "io/source.h"
#include "io/target.h"
#include "io/threads.h"
#include "item/convert.h"
#include "item/encode.h"
#include "item/print.h"
#include "lazy/calc.h"
#include "lazy/concat.h"
#include "stat/correlation.h"
#include "stat/difference.h"
#include "stat/distance.h"
#include "stat/histogram.h"
#include "stat/quantile.h"
#include "stat/reduction.h"
#include "stat/sketch.h"
#include "stat/unique.h"
#include "text/json_text.h"
#include "walk/reader.h"

#endif
