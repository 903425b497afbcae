#include "fediverse/badge.hpp"

#define ZLIB_CONST
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <zlib.h>

#include "base/assert.hpp"

namespace tagring::fediverse {
namespace {

struct Rgb {
  unsigned red, green, blue;
};
constexpr std::array<Rgb, kColours> kBackgrounds = {{{0x57, 0x42, 0xC4},
                                                     {0x0B, 0x74, 0x67},
                                                     {0x9A, 0x4A, 0x06},
                                                     {0xA1, 0x2A, 0x6B},
                                                     {0x24, 0x60, 0xB0},
                                                     {0x4C, 0x6B, 0x12}}};
constexpr unsigned kShades = 16;    // from the background to white
constexpr unsigned kSamples = 4;    // of a pixel, each way
constexpr unsigned kFaintPart = 6;  // of the signs in the header: a sixth of white

void add_number(std::string& out, std::uint32_t number) {
  for (const int shift : {24, 16, 8, 0})
    out.push_back(static_cast<char>(number >> static_cast<unsigned>(shift)));
}

void add_chunk(std::string& out, std::string_view name, std::string_view content) {
  add_number(out, static_cast<std::uint32_t>(content.size()));
  const std::string named = std::string(name) + std::string(content);
  out += named;
  const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(named.data()), static_cast<uInt>(named.size()));
  add_number(out, static_cast<std::uint32_t>(sum));
}

// Within a hash sign that fills the middle of the unit square.
bool is_ink(double x, double y) {
  constexpr double kHalfStroke = 0.042;
  constexpr double kReach = 0.27;
  const double across = x - 0.5 + (y - 0.5) * 0.2;
  const double down = y - 0.5;
  const bool upright = std::abs(std::abs(across) - 0.1) < kHalfStroke && std::abs(down) < kReach;
  const bool level = std::abs(std::abs(down) - 0.1) < kHalfStroke && std::abs(across) < kReach;
  return upright || level;
}

// How much of a pixel, given in squares, is ink.
unsigned shade(double x, double y, double pixel) {
  unsigned inside = 0;
  for (unsigned i = 0; i < kSamples * kSamples; ++i) {
    const double dx = (i % kSamples + 0.5) / kSamples;
    const double dy = (i / kSamples + 0.5) / kSamples;
    inside += is_ink(x + dx * pixel, y + dy * pixel) ? 1 : 0;
  }
  return inside * (kShades - 1) / (kSamples * kSamples);
}

// The pixels of a picture, of which only the palette differs by colour. `square`: in pixels, with a sign in
// each.
struct Drawing {
  unsigned width, height, square, part;
  std::string pixels;  // compressed

  Drawing(unsigned w, unsigned h, unsigned s, unsigned p) : width(w), height(h), square(s), part(p) {
    std::string sign;
    const double pixel = 1.0 / s;
    for (unsigned i = 0; i < s * s; ++i)
      sign.push_back(static_cast<char>(shade((i % s) * pixel, (i / s) * pixel, pixel) / p));
    std::string rows;
    rows.reserve((w + 1) * h);
    for (unsigned y = 0; y < h; ++y) {
      rows.push_back(0);  // not filtered
      for (unsigned x = 0; x < w; ++x) rows.push_back(sign[y % s * s + x % s]);
    }
    uLongf length = compressBound(rows.size());
    pixels.resize(length);
    const int done = compress2(reinterpret_cast<Bytef*>(pixels.data()), &length,
                               reinterpret_cast<const Bytef*>(rows.data()), rows.size(), Z_BEST_COMPRESSION);
    TR_ASSERT(done == Z_OK);
    pixels.resize(length);
  }
};

std::string paint(const Drawing& drawing, std::size_t colour) {
  std::string png = "\x89PNG\r\n\x1a\n";
  std::string header;
  add_number(header, drawing.width);
  add_number(header, drawing.height);
  header += std::string("\x08\x03\0\0\0", 5);  // 8 bits, of a palette
  add_chunk(png, "IHDR", header);
  const Rgb base = kBackgrounds.at(colour % kColours);
  std::string palette;
  for (unsigned i = 0; i < kShades; ++i) {
    for (const unsigned part : {base.red, base.green, base.blue})
      palette.push_back(static_cast<char>(part + (255 - part) * i / (kShades - 1)));
  }
  add_chunk(png, "PLTE", palette);
  add_chunk(png, "IDAT", drawing.pixels);
  add_chunk(png, "IEND", "");
  return png;
}

}  // namespace

std::size_t colour_of(const RingId& key) { return key.top() % kColours; }

std::string make_icon(std::size_t colour) {
  static const Drawing drawing(256, 256, 256, 1);
  return paint(drawing, colour);
}

std::string make_header(std::size_t colour) {
  static const Drawing drawing(1200, 400, 100, kFaintPart);
  return paint(drawing, colour);
}

}  // namespace tagring::fediverse
