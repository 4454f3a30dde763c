#include "city.h"

#include <string.h>

/* What the screens of the city show, drawn by the CPU each frame: the left half for walls, the right one for posts. */

/* Letters of 3 x 5 dots, a digit a row from above: 4 is the left dot, 1 the right one. */
static const char *const letters[] = {"25755", "65656", "34443", "65556", "74647", "74644", "34553", "55755", "72227",
                                      "11152", "55655", "44447", "57755", "65555", "25552", "65644", "25521", "65655",
                                      "34216", "72222", "55557", "55552", "55775", "55255", "55222", "71247"};
static const char *const digits[] = {"75557", "26227", "61247", "61216", "55711",
                                     "74616", "34652", "71222", "25252", "25316"};

static const char *dots_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return letters[c - 'A'];
    if (c >= 'a' && c <= 'z')
        return letters[c - 'a'];
    return c >= '0' && c <= '9' ? digits[c - '0'] : c == '.' ? "00002" : "00000";
}

void text_draw(uint32_t *texels, uint32_t width, uint32_t height, int x, int y, int scale, const char *text,
               uint32_t color)
{
    for (; *text; text++, x += 4 * scale) {
        const char *rows = dots_of(*text);
        for (int k = 0; k < 15 * scale * scale; k++) {
            int dx = k % (3 * scale), dy = k / (3 * scale), px = x + dx, py = y + dy;
            if ((rows[dy / scale] - '0') >> (2 - dx / scale) & 1 && px >= 0 && py >= 0 && px < (int)width &&
                py < (int)height)
                texels[py * (int)width + px] = color;
        }
    }
}

static uint32_t rgb(float r, float g, float b)
{
    const float c[3] = {r, g, b};
    uint32_t texel = 0xff000000u;
    for (int k = 0; k < 3; k++)
        texel |= (uint32_t)(255.0f * fminf(fmaxf(c[k], 0.0f), 1.0f)) << (8 * k);
    return texel;
}

/* A sun over waves, in bands. */
static uint32_t dusk(float x, float y, float seconds)
{
    float dx = (x - 0.5f) * 1.75f, dy = y - 0.46f, r = sqrtf(dx * dx + dy * dy);
    if (y > 0.66f) {
        float wave =
            0.5f + 0.5f * sinf(70.0f * powf(y - 0.56f, 0.6f) + 2.2f * seconds + 2.0f * sinf(6.0f * x + seconds));
        return rgb(0.10f + 0.55f * wave * (1.0f - fabsf(dx)), 0.05f + 0.12f * wave, 0.28f + 0.3f * wave);
    }
    bool slit = dy > -0.05f && fmodf((dy + 0.2f) * 14.0f + 0.3f * seconds, 1.0f) < 0.35f;
    if (r < 0.27f && !slit)
        return rgb(1.0f, 0.75f - 1.4f * (dy + 0.2f), 0.25f + 0.5f * dy);
    return rgb(0.20f + 0.5f * y, 0.06f + 0.10f * y, 0.35f + 0.12f * y);
}

/* Stripes that turn into one another. */
static uint32_t poster(float x, float y, float seconds)
{
    float a = sinf(9.0f * x + 5.0f * y + 0.8f * seconds), b = sinf(8.0f * y - 4.0f * x - 0.6f * seconds);
    return a * b > 0.1f ? rgb(0.95f, 0.35f + 0.3f * b, 0.20f) : rgb(0.08f, 0.35f + 0.25f * a, 0.60f + 0.2f * b);
}

void page_draw(uint32_t *texels, uint32_t first_row, uint32_t rows, float seconds)
{
    const int half = PAGE_WIDTH / 2;
    uint32_t *part = texels + first_row * PAGE_WIDTH, white = rgb(1.0f, 0.96f, 0.88f);
    for (uint32_t y = 0; y < rows; y++) {
        for (int x = 0; x < PAGE_WIDTH; x++) {
            float u = (float)(x % half) / (float)half, v = (float)(first_row + y) / (float)PAGE_HEIGHT;
            part[(int)y * PAGE_WIDTH + x] = x < half ? dusk(u, v, seconds) : poster(u, v, seconds);
        }
    }
    int up = -(int)first_row;
    text_draw(part, PAGE_WIDTH, rows, 16, 10 + up, 4, "HEDDLE", white);
    text_draw(part, PAGE_WIDTH, rows, half + 22, 14 + up, 3, "AFTER", white);
    text_draw(part, PAGE_WIDTH, rows, half + 22, 34 + up, 3, "RAIN", white);
}
