#ifndef NPYX_SYSTEM_WASI_H
#define NPYX_SYSTEM_WASI_H
#endif
