/*
 * Constants of number_text.c.
 *
 * With e = floor(log2(10^n)), the scaled power of n is 10^n * 2^(127 - e), a number in [2^127, 2^128). The
 * 617 powers that float64 asks for (n from -292 to 324) come from every 27th of them, kept to 192 bits, times
 * a power of five: the integer part of each comes out exact, which anyone can check with big integers.
 */
#ifndef NPYX_NUMBER_TEXT_TABLE_H
#define NPYX_NUMBER_TEXT_TABLE_H

#include <stdint.h>

enum { NPYX_POWER_OF_TEN_FIRST = -292, NPYX_POWER_OF_TEN_STEP = 27 };

/* Row i: 10^(-292 + 27 i) * 2^(191 - e), rounded up; the most significant word first. */
static const uint64_t NPYX_POWERS_OF_TEN[23][3] = {
    {0xff77b1fcbebcdc4fu, 0x25e8e89c13bb0f7au, 0xdf9b302944a88415u},
    {0xce5d73ff402d98e3u, 0xfb0a3d212dc8128fu, 0xb839ca17a14a01cbu},
    {0xa6b34ad8c9dfc06fu, 0xf42faa48c0ea481eu, 0xd7bde82603302c06u},
    {0x86a8d39ef77164bcu, 0xae5dff9c02033197u, 0x02c85d6b781b02d4u},
    {0xd98ddaee19068c76u, 0x3badd624dd9b0957u, 0x2dbb637d5b77493eu},
    {0xafbd2350644eeacfu, 0xe5d1929ef90898fau, 0x88865218f5493e65u},
    {0x8df5efabc5979c8fu, 0xca8d3ffa1ef463c1u, 0xd897747ed9d851e8u},
    {0xe55990879ddcaabdu, 0xcc420a6a101d0515u, 0xc2f41cf139d59e10u},
    {0xb94470938fa89bceu, 0xf808e40e8d5b3e69u, 0xbf953486d9966118u},
    {0x95a8637627989aadu, 0xdde7001379a44aa8u, 0x2eb5b82ea93e5f5du},
    {0xf1c90080baf72cb1u, 0x5324c68b12dd6338u, 0x70cb148213caa7e5u},
    {0xc350000000000000u, 0x0000000000000000u, 0x0000000000000000u},
    {0x9dc5ada82b70b59du, 0xf020000000000000u, 0x0000000000000000u},
    {0xfee50b7025c36a08u, 0x02f236d04753d5b4u, 0x8e80000000000000u},
    {0xcde6fd5e09abcf26u, 0xed4c0226b55e6f86u, 0xad18db241667cf42u},
    {0xa6539930bf6bff45u, 0x84db8346b786151cu, 0x91d1eac1fe9754beu},
    {0x865b86925b9bc5c2u, 0x0b8a2392ba45a9b2u, 0x5c6658d409fb8bf8u},
    {0xd910f7ff28069da4u, 0x1b2ba1518094da04u, 0xc4e8e60f9cf29c85u},
    {0xaf58416654a6babbu, 0x387ac8d1970027b2u, 0x03c5b3eebd70b863u},
    {0x8da471a9de737e24u, 0x5ceaecfed289e5d2u, 0xac195df9a79706b7u},
    {0xe4d5e82392a40515u, 0x0fabaf3feaa5334au, 0x611fe6a4368498bau},
    {0xb8da1662e7b00a17u, 0x3d6a751f3b936243u, 0xfcc1493dcb1551e0u},
    {0x95527a5202df0ccbu, 0x0f37801e0c43ebc8u, 0x985032667e54efd4u},
};

/* 5^i shifted left until bit 62 is its highest. */
static const uint64_t NPYX_POWERS_OF_FIVE[NPYX_POWER_OF_TEN_STEP] = {
    0x4000000000000000u, 0x5000000000000000u, 0x6400000000000000u, 0x7d00000000000000u, 0x4e20000000000000u,
    0x61a8000000000000u, 0x7a12000000000000u, 0x4c4b400000000000u, 0x5f5e100000000000u, 0x7735940000000000u,
    0x4a817c8000000000u, 0x5d21dba000000000u, 0x746a528800000000u, 0x48c2739500000000u, 0x5af3107a40000000u,
    0x71afd498d0000000u, 0x470de4df82000000u, 0x58d15e1762800000u, 0x6f05b59d3b200000u, 0x4563918244f40000u,
    0x56bc75e2d6310000u, 0x6c6b935b8bbd4000u, 0x43c33c1937564800u, 0x54b40b1f852bda00u, 0x69e10de76676d080u,
    0x422ca8b0a00a4250u, 0x52b7d2dcc80cd2e4u};

/* 10^i */
/* clang-format off */
static const uint64_t NPYX_POWERS_OF_TEN_U64[20] = {
    1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u, 10000000000u,
    100000000000u, 1000000000000u, 10000000000000u, 100000000000000u, 1000000000000000u,
    10000000000000000u, 100000000000000000u, 1000000000000000000u, 10000000000000000000u};
/* clang-format on */

#endif
