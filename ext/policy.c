#include "policy.h"

#include <stdlib.h>
#include <string.h>

bool npyext_policy_allows_views(void) {
    const char *views = getenv("NPYEXT_VIEWS");
    return views != NULL && strcmp(views, "1") == 0;
}
