#!/usr/bin/env python3
"""Draws icon.png, the icon of the packages: water on its way over the three crests of a weir. Needs nothing but Python.

    eng/package/icon.py        writes icon.png beside this script
"""
import math
import os
import struct
import zlib

SIZE = 128
SAMPLES = 4  # in each direction, for smooth edges
BACKGROUND, WALL, WATER = (13, 59, 102), (238, 244, 250), (77, 171, 247)


def colour(x, y):
    """The colour at a point, or nothing outside of the rounded square. Coordinates are from 0 to 1."""
    radius = 0.18
    dx, dy = max(radius - x, x - (1 - radius), 0), max(radius - y, y - (1 - radius), 0)
    if math.hypot(dx, dy) > radius:
        return None
    # Three steps, each with a crest to the left and water that falls to the next.
    for step in range(3):
        left, top = 0.14 + 0.25 * step, 0.26 + 0.17 * step
        if left <= x <= left + 0.09 and top <= y <= 0.86:
            return WALL
        surface = top + 0.10 + 0.018 * math.sin(x * 40)
        if left + 0.09 < x < left + 0.25 and surface <= y <= 0.86:
            return WATER
    return BACKGROUND


def pixel(column, row):
    total, seen = [0, 0, 0], 0
    for i in range(SAMPLES * SAMPLES):
        found = colour((column + (i % SAMPLES + 0.5) / SAMPLES) / SIZE, (row + (i // SAMPLES + 0.5) / SAMPLES) / SIZE)
        if found:
            seen += 1
            total = [a + b for a, b in zip(total, found)]
    return bytes([round(t / seen) for t in total] if seen else [0, 0, 0]) + bytes([round(255 * seen / (SAMPLES * SAMPLES))])


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


rows = b"".join(b"\0" + b"".join(pixel(column, row) for column in range(SIZE)) for row in range(SIZE))
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "icon.png"), "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0))
               + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))
