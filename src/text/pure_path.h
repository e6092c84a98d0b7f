/*
 * Paths as Python's pathlib spells them: str(PurePosixPath(*segments)) and str(PureWindowsPath(*segments)),
 * by the rules of Python 3.13. Segments are UTF-8. The file system is not consulted.
 */
#ifndef NPYX_PURE_PATH_H
#define NPYX_PURE_PATH_H

#include "span.h"

/* How many bytes longer than all segments together a path can be, besides one byte per segment. */
enum { NPYX_PURE_PATH_EXTRA = 8 };

/* Writes the path and returns its bytes. */
size_t npyx_pure_path(bool is_windows, const npyx_span *segments, uint32_t nsegments, char *path);

#endif
