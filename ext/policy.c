#include "policy.h"

#include <stdlib.h>
#include <string.h>

static bool is_one(const char *name) {
    const char *value = getenv(name);
    return value != NULL && strcmp(value, "1") == 0;
}

bool npyext_policy_allows_views(void) {
    return is_one("NPYEXT_VIEWS");
}

bool npyext_policy_maps_files(void) {
    return is_one("NPYEXT_MMAP");
}

bool npyext_policy_uses_one_thread(void) {
    return is_one("NPYEXT_THREADS");
}
