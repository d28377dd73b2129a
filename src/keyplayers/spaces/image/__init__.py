"""Images: a player is a pixel, a cell of a grid, or a segment.

`layout` says where the channels are, `players` cuts the pixels into players, `fills` says what masking puts in,
`space` joins them, `view` shows the image as text.
"""

from .space import Image as Image
