/*
 * npy_png(array [, cmap [, vmin [, vmax]]]): an array as a picture.
 *
 *     (h, w), (h, w, 1), (1, h, w)     values through a colour map, NaN transparent
 *     (h, w, 3), (h, w, 4), (3, h, w)  colours
 *
 * Levels are 0 to 255. uint8 items are levels themselves unless vmin or vmax is given. For other items, the
 * range from vmin to vmax, or of the finite items, is cut into 256 equal pieces, as in Matplotlib.
 */

#include <math.h>

#include "format/png_write.h"
#include "scalars.h"
#include "walk/reader.h"

/* ---- colour maps: 256 colours each, from the least value to the greatest ----
 *
 * As their authors published them.
 *
 * - viridis, magma: Nathaniel Smith and Stefan van der Walt, 2015, CC0. The tables of the colormap project,
 *   rounded to 8 bits. Even steps of a value are even steps to the eye.
 * - coolwarm: Kenneth Moreland, Diverging Color Maps for Scientific Visualization (2009). From (59, 76, 192)
 *   to (180, 4, 38) in his Msh space, unsaturated in the middle.
 */

typedef struct colour_map {
    const char *name;
    const uint32_t *colours; /* 0xRRGGBB; NULL: gray */
} colour_map;

static const uint32_t colours_viridis[NPYX_PNG_NCOLOURS] = {
    0x440154, 0x440256, 0x450457, 0x450559, 0x46075a, 0x46085c, 0x460a5d, 0x460b5e, 0x470d60, 0x470e61,
    0x471063, 0x471164, 0x471365, 0x481467, 0x481668, 0x481769, 0x48186a, 0x481a6c, 0x481b6d, 0x481c6e,
    0x481d6f, 0x481f70, 0x482071, 0x482173, 0x482374, 0x482475, 0x482576, 0x482677, 0x482878, 0x482979,
    0x472a7a, 0x472c7a, 0x472d7b, 0x472e7c, 0x472f7d, 0x46307e, 0x46327e, 0x46337f, 0x463480, 0x453581,
    0x453781, 0x453882, 0x443983, 0x443a83, 0x443b84, 0x433d84, 0x433e85, 0x423f85, 0x424086, 0x424186,
    0x414287, 0x414487, 0x404588, 0x404688, 0x3f4788, 0x3f4889, 0x3e4989, 0x3e4a89, 0x3e4c8a, 0x3d4d8a,
    0x3d4e8a, 0x3c4f8a, 0x3c508b, 0x3b518b, 0x3b528b, 0x3a538b, 0x3a548c, 0x39558c, 0x39568c, 0x38588c,
    0x38598c, 0x375a8c, 0x375b8d, 0x365c8d, 0x365d8d, 0x355e8d, 0x355f8d, 0x34608d, 0x34618d, 0x33628d,
    0x33638d, 0x32648e, 0x32658e, 0x31668e, 0x31678e, 0x31688e, 0x30698e, 0x306a8e, 0x2f6b8e, 0x2f6c8e,
    0x2e6d8e, 0x2e6e8e, 0x2e6f8e, 0x2d708e, 0x2d718e, 0x2c718e, 0x2c728e, 0x2c738e, 0x2b748e, 0x2b758e,
    0x2a768e, 0x2a778e, 0x2a788e, 0x29798e, 0x297a8e, 0x297b8e, 0x287c8e, 0x287d8e, 0x277e8e, 0x277f8e,
    0x27808e, 0x26818e, 0x26828e, 0x26828e, 0x25838e, 0x25848e, 0x25858e, 0x24868e, 0x24878e, 0x23888e,
    0x23898e, 0x238a8d, 0x228b8d, 0x228c8d, 0x228d8d, 0x218e8d, 0x218f8d, 0x21908d, 0x21918c, 0x20928c,
    0x20928c, 0x20938c, 0x1f948c, 0x1f958b, 0x1f968b, 0x1f978b, 0x1f988b, 0x1f998a, 0x1f9a8a, 0x1e9b8a,
    0x1e9c89, 0x1e9d89, 0x1f9e89, 0x1f9f88, 0x1fa088, 0x1fa188, 0x1fa187, 0x1fa287, 0x20a386, 0x20a486,
    0x21a585, 0x21a685, 0x22a785, 0x22a884, 0x23a983, 0x24aa83, 0x25ab82, 0x25ac82, 0x26ad81, 0x27ad81,
    0x28ae80, 0x29af7f, 0x2ab07f, 0x2cb17e, 0x2db27d, 0x2eb37c, 0x2fb47c, 0x31b57b, 0x32b67a, 0x34b679,
    0x35b779, 0x37b878, 0x38b977, 0x3aba76, 0x3bbb75, 0x3dbc74, 0x3fbc73, 0x40bd72, 0x42be71, 0x44bf70,
    0x46c06f, 0x48c16e, 0x4ac16d, 0x4cc26c, 0x4ec36b, 0x50c46a, 0x52c569, 0x54c568, 0x56c667, 0x58c765,
    0x5ac864, 0x5cc863, 0x5ec962, 0x60ca60, 0x63cb5f, 0x65cb5e, 0x67cc5c, 0x69cd5b, 0x6ccd5a, 0x6ece58,
    0x70cf57, 0x73d056, 0x75d054, 0x77d153, 0x7ad151, 0x7cd250, 0x7fd34e, 0x81d34d, 0x84d44b, 0x86d549,
    0x89d548, 0x8bd646, 0x8ed645, 0x90d743, 0x93d741, 0x95d840, 0x98d83e, 0x9bd93c, 0x9dd93b, 0xa0da39,
    0xa2da37, 0xa5db36, 0xa8db34, 0xaadc32, 0xaddc30, 0xb0dd2f, 0xb2dd2d, 0xb5de2b, 0xb8de29, 0xbade28,
    0xbddf26, 0xc0df25, 0xc2df23, 0xc5e021, 0xc8e020, 0xcae11f, 0xcde11d, 0xd0e11c, 0xd2e21b, 0xd5e21a,
    0xd8e219, 0xdae319, 0xdde318, 0xdfe318, 0xe2e418, 0xe5e419, 0xe7e419, 0xeae51a, 0xece51b, 0xefe51c,
    0xf1e51d, 0xf4e61e, 0xf6e620, 0xf8e621, 0xfbe723, 0xfde725,
};

static const uint32_t colours_magma[NPYX_PNG_NCOLOURS] = {
    0x000004, 0x010005, 0x010106, 0x010108, 0x020109, 0x02020b, 0x02020d, 0x03030f, 0x030312, 0x040414,
    0x050416, 0x060518, 0x06051a, 0x07061c, 0x08071e, 0x090720, 0x0a0822, 0x0b0924, 0x0c0926, 0x0d0a29,
    0x0e0b2b, 0x100b2d, 0x110c2f, 0x120d31, 0x130d34, 0x140e36, 0x150e38, 0x160f3b, 0x180f3d, 0x19103f,
    0x1a1042, 0x1c1044, 0x1d1147, 0x1e1149, 0x20114b, 0x21114e, 0x221150, 0x241253, 0x251255, 0x271258,
    0x29115a, 0x2a115c, 0x2c115f, 0x2d1161, 0x2f1163, 0x311165, 0x331067, 0x341069, 0x36106b, 0x38106c,
    0x390f6e, 0x3b0f70, 0x3d0f71, 0x3f0f72, 0x400f74, 0x420f75, 0x440f76, 0x451077, 0x471078, 0x491078,
    0x4a1079, 0x4c117a, 0x4e117b, 0x4f127b, 0x51127c, 0x52137c, 0x54137d, 0x56147d, 0x57157e, 0x59157e,
    0x5a167e, 0x5c167f, 0x5d177f, 0x5f187f, 0x601880, 0x621980, 0x641a80, 0x651a80, 0x671b80, 0x681c81,
    0x6a1c81, 0x6b1d81, 0x6d1d81, 0x6e1e81, 0x701f81, 0x721f81, 0x732081, 0x752181, 0x762181, 0x782281,
    0x792282, 0x7b2382, 0x7c2382, 0x7e2482, 0x802582, 0x812581, 0x832681, 0x842681, 0x862781, 0x882781,
    0x892881, 0x8b2981, 0x8c2981, 0x8e2a81, 0x902a81, 0x912b81, 0x932b80, 0x942c80, 0x962c80, 0x982d80,
    0x992d80, 0x9b2e7f, 0x9c2e7f, 0x9e2f7f, 0xa02f7f, 0xa1307e, 0xa3307e, 0xa5317e, 0xa6317d, 0xa8327d,
    0xaa337d, 0xab337c, 0xad347c, 0xae347b, 0xb0357b, 0xb2357b, 0xb3367a, 0xb5367a, 0xb73779, 0xb83779,
    0xba3878, 0xbc3978, 0xbd3977, 0xbf3a77, 0xc03a76, 0xc23b75, 0xc43c75, 0xc53c74, 0xc73d73, 0xc83e73,
    0xca3e72, 0xcc3f71, 0xcd4071, 0xcf4070, 0xd0416f, 0xd2426f, 0xd3436e, 0xd5446d, 0xd6456c, 0xd8456c,
    0xd9466b, 0xdb476a, 0xdc4869, 0xde4968, 0xdf4a68, 0xe04c67, 0xe24d66, 0xe34e65, 0xe44f64, 0xe55064,
    0xe75263, 0xe85362, 0xe95462, 0xea5661, 0xeb5760, 0xec5860, 0xed5a5f, 0xee5b5e, 0xef5d5e, 0xf05f5e,
    0xf1605d, 0xf2625d, 0xf2645c, 0xf3655c, 0xf4675c, 0xf4695c, 0xf56b5c, 0xf66c5c, 0xf66e5c, 0xf7705c,
    0xf7725c, 0xf8745c, 0xf8765c, 0xf9785d, 0xf9795d, 0xf97b5d, 0xfa7d5e, 0xfa7f5e, 0xfa815f, 0xfb835f,
    0xfb8560, 0xfb8761, 0xfc8961, 0xfc8a62, 0xfc8c63, 0xfc8e64, 0xfc9065, 0xfd9266, 0xfd9467, 0xfd9668,
    0xfd9869, 0xfd9a6a, 0xfd9b6b, 0xfe9d6c, 0xfe9f6d, 0xfea16e, 0xfea36f, 0xfea571, 0xfea772, 0xfea973,
    0xfeaa74, 0xfeac76, 0xfeae77, 0xfeb078, 0xfeb27a, 0xfeb47b, 0xfeb67c, 0xfeb77e, 0xfeb97f, 0xfebb81,
    0xfebd82, 0xfebf84, 0xfec185, 0xfec287, 0xfec488, 0xfec68a, 0xfec88c, 0xfeca8d, 0xfecc8f, 0xfecd90,
    0xfecf92, 0xfed194, 0xfed395, 0xfed597, 0xfed799, 0xfed89a, 0xfdda9c, 0xfddc9e, 0xfddea0, 0xfde0a1,
    0xfde2a3, 0xfde3a5, 0xfde5a7, 0xfde7a9, 0xfde9aa, 0xfdebac, 0xfcecae, 0xfceeb0, 0xfcf0b2, 0xfcf2b4,
    0xfcf4b6, 0xfcf6b8, 0xfcf7b9, 0xfcf9bb, 0xfcfbbd, 0xfcfdbf,
};

static const uint32_t colours_coolwarm[NPYX_PNG_NCOLOURS] = {
    0x3b4cc0, 0x3c4ec2, 0x3d50c3, 0x3e51c5, 0x4053c6, 0x4155c8, 0x4256c9, 0x4358cb, 0x445acc, 0x455cce,
    0x475dcf, 0x485fd1, 0x4961d2, 0x4a63d3, 0x4b64d5, 0x4d66d6, 0x4e68d7, 0x4f69d9, 0x506bda, 0x526ddb,
    0x536edd, 0x5470de, 0x5572df, 0x5773e0, 0x5875e1, 0x5977e2, 0x5a78e4, 0x5c7ae5, 0x5d7ce6, 0x5e7de7,
    0x5f7fe8, 0x6180e9, 0x6282ea, 0x6384eb, 0x6585ec, 0x6687ed, 0x6788ee, 0x698aef, 0x6a8bef, 0x6b8df0,
    0x6d8ef1, 0x6e90f2, 0x6f91f3, 0x7193f3, 0x7294f4, 0x7396f5, 0x7597f6, 0x7699f6, 0x779af7, 0x799cf8,
    0x7a9df8, 0x7b9ff9, 0x7da0f9, 0x7ea1fa, 0x80a3fa, 0x81a4fb, 0x82a6fb, 0x84a7fc, 0x85a8fc, 0x87aafc,
    0x88abfd, 0x89acfd, 0x8badfd, 0x8caffe, 0x8db0fe, 0x8fb1fe, 0x90b2fe, 0x92b4fe, 0x93b5ff, 0x94b6ff,
    0x96b7ff, 0x97b8ff, 0x99b9ff, 0x9abbff, 0x9bbcff, 0x9dbdff, 0x9ebeff, 0x9fbfff, 0xa1c0ff, 0xa2c1ff,
    0xa3c2fe, 0xa5c3fe, 0xa6c4fe, 0xa8c5fe, 0xa9c6fe, 0xaac7fd, 0xacc8fd, 0xadc9fd, 0xaec9fc, 0xb0cafc,
    0xb1cbfc, 0xb2ccfb, 0xb3cdfb, 0xb5cefa, 0xb6cefa, 0xb7cff9, 0xb9d0f9, 0xbad1f8, 0xbbd1f8, 0xbcd2f7,
    0xbed3f6, 0xbfd3f6, 0xc0d4f5, 0xc1d4f4, 0xc3d5f4, 0xc4d6f3, 0xc5d6f2, 0xc6d7f1, 0xc8d7f1, 0xc9d8f0,
    0xcad8ef, 0xcbd8ee, 0xccd9ed, 0xcdd9ec, 0xcedaeb, 0xd0daea, 0xd1dae9, 0xd2dbe8, 0xd3dbe7, 0xd4dbe6,
    0xd5dbe5, 0xd6dce4, 0xd7dce3, 0xd8dce2, 0xd9dce1, 0xdadce0, 0xdbddde, 0xdcdddd, 0xdddcdc, 0xdedcdb,
    0xdfdcd9, 0xe1dbd8, 0xe2dad6, 0xe3dad5, 0xe4d9d3, 0xe5d9d2, 0xe5d8d1, 0xe6d8cf, 0xe7d7ce, 0xe8d6cc,
    0xe9d6cb, 0xead5c9, 0xebd4c8, 0xebd3c6, 0xecd3c5, 0xedd2c3, 0xeed1c2, 0xeed0c0, 0xefcfbf, 0xefcebd,
    0xf0cebc, 0xf1cdba, 0xf1ccb8, 0xf2cbb7, 0xf2cab5, 0xf3c9b4, 0xf3c8b2, 0xf4c7b1, 0xf4c6af, 0xf4c5ae,
    0xf5c4ac, 0xf5c3aa, 0xf5c1a9, 0xf6c0a7, 0xf6bfa6, 0xf6bea4, 0xf6bda2, 0xf7bca1, 0xf7ba9f, 0xf7b99e,
    0xf7b89c, 0xf7b79b, 0xf7b599, 0xf7b497, 0xf7b396, 0xf7b294, 0xf7b093, 0xf7af91, 0xf7ad90, 0xf7ac8e,
    0xf7ab8c, 0xf7a98b, 0xf7a889, 0xf7a688, 0xf6a586, 0xf6a385, 0xf6a283, 0xf6a081, 0xf59f80, 0xf59d7e,
    0xf59c7d, 0xf49a7b, 0xf4997a, 0xf49778, 0xf39577, 0xf39475, 0xf29274, 0xf29072, 0xf18f71, 0xf18d6f,
    0xf08b6e, 0xf08a6c, 0xef886b, 0xef8669, 0xee8568, 0xed8366, 0xed8165, 0xec7f63, 0xeb7d62, 0xea7c60,
    0xea7a5f, 0xe9785d, 0xe8765c, 0xe7745a, 0xe67259, 0xe57058, 0xe56f56, 0xe46d55, 0xe36b53, 0xe26952,
    0xe16751, 0xe0654f, 0xdf634e, 0xde614d, 0xdd5f4b, 0xdc5d4a, 0xdb5b49, 0xda5947, 0xd85646, 0xd75445,
    0xd65243, 0xd55042, 0xd44e41, 0xd34c40, 0xd1493e, 0xd0473d, 0xcf453c, 0xce433b, 0xcc4039, 0xcb3e38,
    0xca3b37, 0xc83936, 0xc73634, 0xc63433, 0xc43132, 0xc32e31, 0xc12b30, 0xc0282f, 0xbf252e, 0xbd222c,
    0xbc1e2b, 0xba1a2a, 0xb91629, 0xb71128, 0xb60b27, 0xb40426,
};

/* For messages. */
static const char colour_map_names[] = "gray, viridis, magma, coolwarm";

static const colour_map colour_maps[] = {
    {"gray", NULL}, {"viridis", colours_viridis}, {"magma", colours_magma}, {"coolwarm", colours_coolwarm}};

/* NULL if there is no map of that name. */
static const colour_map *colour_map_find(const char *name, size_t nbytes) {
    for (size_t i = 0; i < sizeof colour_maps / sizeof colour_maps[0]; i++) {
        if (npyx_is_same(colour_maps[i].name, strlen(colour_maps[i].name), name, nbytes))
            return &colour_maps[i];
    }
    return NULL;
}

/* ---- npy_png ---- */

enum { PICTURE_NLEVELS = 256 };

typedef struct picture {
    npyext_call *c;
    npyx_view view; /* (h, w, channels) */
    const colour_map *map;
    npyext_ends ends;
    bool is_direct; /* items are levels */
    bool has_nan;
    int nchannels; /* of the array's items: 1, 3 or 4 */
    npyx_png png;
} picture;

/* ---- arguments ---- */

static npyx_status picture_read_map(picture *p) {
    npyext_call *c = p->c;
    npyx_value name = {.bytes = "", .nbytes = 0};
    p->map = colour_map_find("gray", 4);
    if (npyext_call_type(c, 1) == SQLITE_NULL)
        return NPYX_OK;
    NPYX_TRY(npyext_call_read(c, 1, NPYX_VALUE_TEXT, "the colour map", "", &name));
    if (name.nbytes == 0)
        return NPYX_OK;
    p->map = colour_map_find(name.bytes, name.nbytes);
    if (p->map == NULL)
        return npyext_call_refuse(c, "the colour map '%.*s' is none of %s",
                                  NPYX_SHOWN(name.bytes, name.nbytes, 40), colour_map_names);
    return NPYX_OK;
}

/* ---- rows, columns and channels ---- */

static npyx_status picture_refuse_shape(const picture *p) {
    const npyx_view *view = &p->c->view;
    char text[200];
    npyx_buffer shape = npyx_buffer_over(text, sizeof text);
    npyext_append_json_integers(&shape, view->shape, view->ndim);
    return npyx_refuse(&p->c->error,
                       "a picture has shape [h, w], [h, w, 3], [h, w, 4] or [3, h, w]; this array's is %s%s",
                       npyx_buffer_text(&shape),
                       view->ndim == 1  ? ", which npy_plot draws"
                       : view->ndim > 2 ? "; npy_slice takes a part of it"
                                        : "");
}

/* Makes rows, columns and channels the view's axes, in this order. */
static npyx_status picture_find_axes(picture *p) {
    const npyx_view *view = &p->c->view;
    const int64_t *shape = view->shape;
    bool has_colours = view->ndim == 3 && (shape[2] == 3 || shape[2] == 4);
    bool is_single = view->ndim == 3 && shape[2] == 1;
    bool has_planes = view->ndim == 3 && !has_colours && !is_single && (shape[0] == 3 || shape[0] == 1);
    p->view = *view;
    p->nchannels = has_colours ? (int)shape[2] : has_planes ? (int)shape[0] : 1;
    if (view->ndim != 2 && !has_colours && !is_single && !has_planes)
        return picture_refuse_shape(p);
    for (int axis = 0; has_planes && axis < 3; axis++)
        npyx_view_copy_axis(&p->view, axis, view, (axis + 1) % 3);
    p->png.height = (size_t)p->view.shape[0];
    p->png.width = (size_t)p->view.shape[1];
    if (p->png.height == 0 || p->png.width == 0)
        return npyx_refuse(&p->c->error, "the picture would have no pixels");
    if (p->view.shape[0] <= NPYX_PNG_MAX_SIDE && p->view.shape[1] <= NPYX_PNG_MAX_SIDE)
        return NPYX_OK;
    return npyx_refuse(&p->c->error,
                       "a picture of %" PRId64 " x %" PRId64
                       " pixels is larger than %d x %d; npy_slice takes "
                       "every 10th of them with '::10, ::10'",
                       p->view.shape[1], p->view.shape[0], NPYX_PNG_MAX_SIDE, NPYX_PNG_MAX_SIDE);
}

/* ---- levels ---- */

/* Finds the ends of the range that are not given, and whether there are NaNs. */
static npyx_status picture_find_range(picture *p, npyx_source *source, npyx_reals *reals) {
    npyx_status status;
    double lo = INFINITY, hi = -INFINITY;
    npyx_reals_begin(reals, source, &p->c->view);
    while ((status = npyx_reals_next(reals, &p->c->error)) == NPYX_OK) {
        for (int64_t i = 0; i < reals->n; i++) {
            double x = reals->values[i];
            p->has_nan |= isnan(x);
            lo = isfinite(x) && x < lo ? x : lo;
            hi = isfinite(x) && x > hi ? x : hi;
        }
    }
    p->ends.lo = p->ends.has_lo ? p->ends.lo : lo;
    p->ends.hi = p->ends.has_hi ? p->ends.hi : hi;
    return status == NPYX_DONE ? NPYX_OK : status;
}

static uint8_t picture_level(const picture *p, double x) {
    const uint8_t most = PICTURE_NLEVELS - 1;
    if (p->is_direct)
        return (uint8_t)x;
    if (isinf(x))
        return x > 0 ? most : 0;
    if (x <= p->ends.lo || isnan(x))
        return 0;
    if (x >= p->ends.hi)
        return p->ends.hi > p->ends.lo ? most : 0;
    double part = (x / 2 - p->ends.lo / 2) /
                  (p->ends.hi / 2 - p->ends.lo / 2); /* halves: the difference may exceed doubles */
    return (uint8_t)fmin(part * PICTURE_NLEVELS, most);
}

/* ---- pixels ---- */

static void picture_put_value(const picture *p, double x, uint8_t *pixel) {
    const uint8_t level = picture_level(p, x);
    switch (p->png.type) {
    case NPYX_PNG_RGBA:
        for (int k = 0; k < 3; k++)
            pixel[k] = (uint8_t)(p->map->colours[level] >> (16 - 8 * k));
        pixel[3] = isnan(x) ? 0 : 255;
        break;
    case NPYX_PNG_GRAY_ALPHA: pixel[1] = isnan(x) ? 0 : 255; /* fall through */
    default: pixel[0] = level;
    }
}

/* NaN in one channel makes the whole pixel transparent. */
static void picture_put_colour(const picture *p, const double *channels, uint8_t *pixel) {
    bool is_nan = false;
    for (int k = 0; k < p->nchannels; k++) {
        pixel[k] = picture_level(p, channels[k]);
        is_nan |= isnan(channels[k]);
    }
    if (p->png.type == NPYX_PNG_RGBA && (is_nan || p->nchannels == 3))
        pixel[3] = is_nan ? 0 : 255;
}

/* Items come in blocks of any length, so those of a pixel are collected. */
static npyx_status picture_put_pixels(picture *p, npyx_source *source, npyx_reals *reals) {
    const size_t nsamples = (size_t)npyx_png_nsamples(p->png.type);
    double channels[4];
    int nchannels = 0;
    size_t column = 0;
    npyx_status status;
    npyx_reals_begin(reals, source, &p->view);
    while ((status = npyx_reals_next(reals, &p->c->error)) == NPYX_OK) {
        for (int64_t i = 0; i < reals->n; i++) {
            channels[nchannels++] = reals->values[i];
            if (nchannels < p->nchannels)
                continue;
            uint8_t *pixel = npyx_png_row(&p->png) + column * nsamples;
            if (p->nchannels == 1)
                picture_put_value(p, channels[0], pixel);
            else
                picture_put_colour(p, channels, pixel);
            nchannels = 0;
            if (++column == p->png.width) {
                NPYX_TRY(npyx_png_put_row(&p->png, &p->c->error));
                column = 0;
            }
        }
    }
    return status == NPYX_DONE ? NPYX_OK : status;
}

static npyx_png_type picture_type(const picture *p) {
    if (p->nchannels == 1 && p->map->colours == NULL)
        return p->has_nan ? NPYX_PNG_GRAY_ALPHA : NPYX_PNG_GRAY;
    if (p->nchannels == 1)
        return p->has_nan ? NPYX_PNG_RGBA : NPYX_PNG_PALETTE;
    return p->nchannels == 4 || p->has_nan ? NPYX_PNG_RGBA : NPYX_PNG_RGB;
}

static npyx_status picture_write(picture *p, npyx_source *source, npyx_reals *reals) {
    npyx_type type = p->view.dtype->type;
    p->is_direct = type == NPYX_U1 && !p->ends.has_lo && !p->ends.has_hi;
    if (type == NPYX_BOOL) {
        p->ends.lo = p->ends.has_lo ? p->ends.lo : 0;
        p->ends.hi = p->ends.has_hi ? p->ends.hi : 1;
    } else if (!p->is_direct) {
        NPYX_TRY(picture_find_range(p, source, reals));
    }
    p->png.type = picture_type(p);
    p->png.palette = p->map->colours;
    NPYX_TRY(npyx_png_begin(&p->png, &p->c->out, &p->c->error));
    NPYX_TRY(picture_put_pixels(p, source, reals));
    return npyx_png_end(&p->png, &p->c->error);
}

npyx_status npyext_npy_png(npyext_call *c) {
    picture p = {.c = c};
    npyx_source *source = NULL;
    npyx_reals reals = {0};
    NPYX_TRY(picture_read_map(&p));
    NPYX_TRY(npyext_call_ends(c, 2, &p.ends));
    NPYX_TRY(picture_find_axes(&p));
    if (!npyx_dtype_is_real(c->view.dtype))
        return npyx_refuse(&c->error, "a picture needs numbers; these items are %s",
                           npyx_dtype_shown(c->view.dtype).name);
    NPYX_TRY(npyext_array_value_source(&c->value, &source, &c->error));
    npyx_status status = picture_write(&p, source, &reals);
    npyx_reals_clear(&reals);
    npyx_png_clear(&p.png);
    return status;
}
