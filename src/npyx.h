/*
 * npyx: a codec for .npy, .npz and .ten files. This header is all of it; docs/architecture.md shows the floors.
 */
#ifndef NPYX_H
#define NPYX_H

#include "bytes.h"
#include "datetime.h"
#include "host.h"
#include "narrow_float.h"
#include "number_text.h"
#include "status.h"
#include "utf8.h"

#endif
