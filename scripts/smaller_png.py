"""A picture of 256 colours at most, which is a third as large: of a PNG as Chromium writes it, 8 bits a
channel, without interlacing."""
import collections
import struct
import zlib

HEAD = b"\x89PNG\r\n\x1a\n"


def chunks(png):
    at = len(HEAD)
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        yield kind, png[at + 8:at + 8 + length]
        at += 12 + length


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def paeth(left, above, corner):
    by = [abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)]
    return (left, above, corner)[by.index(min(by))]


def rows_of(data, width, height, size):
    """size: bytes of a pixel. A row's first byte tells what is stored: differences to what is beside it."""
    before, length = bytearray(width * size), width * size + 1
    for start in range(0, height * length, length):
        how, row = data[start], bytearray(data[start + 1:start + length])
        for i in range(len(row) if how else 0):
            left, corner = (row[i - size], before[i - size]) if i >= size else (0, 0)
            row[i] = (row[i] + (left, before[i], (left + before[i]) // 2,
                                paeth(left, before[i], corner))[how - 1]) & 255
        yield row
        before = row


def smaller(png):
    parts = list(chunks(png))
    width, height, depth, kind = struct.unpack(">IIBB", parts[0][1][:10])
    if depth != 8 or kind not in (2, 6):
        return png
    size = 3 if kind == 2 else 4
    data = zlib.decompress(b"".join(part for name, part in parts if name == b"IDAT"))
    pixels = [[bytes(row[i:i + 3]) for i in range(0, len(row), size)]
              for row in rows_of(data, width, height, size)]
    counts = collections.Counter(pixel for row in pixels for pixel in row)
    palette = [colour for colour, _ in counts.most_common(256)]

    def nearest(colour):
        return min(range(len(palette)),
                   key=lambda at: sum((a - b) ** 2 for a, b in zip(palette[at], colour)))
    place = {colour: nearest(colour) for colour in counts}
    packed = b"".join(b"\0" + bytes(place[pixel] for pixel in row) for row in pixels)
    return (HEAD + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
            + chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", zlib.compress(packed, 9))
            + chunk(b"IEND", b""))
