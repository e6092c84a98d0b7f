/* The axis argument: which axes of an array are meant, as an integer or a text that is a list of them. */
#ifndef NPYEXT_AXIS_ARGUMENT_H
#define NPYEXT_AXIS_ARGUMENT_H

#include "core/connection.h"
#include "core/results.h"

/* Sets axes[axis] for those of the view's axes that the argument names, which may count them from the end,
 * and clears the others. *is_given false: there is no argument. NPYX_INVALID for what names no axis of the
 * view, or one twice. */
npyx_status npyext_axis_argument_read(const npyext_argument *argument, const npyx_view *view, npyx_host *host,
                                      bool axes[NPYX_MAX_NDIM], bool *is_given, npyx_error *error);

#endif
