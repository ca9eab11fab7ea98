"""PNG files of Pillow, every kind of pixel, and what they hold.

What it is for: tests/spec/network_png_spec.lua.
What it owns: small images (waves, noise, flat colours), one file png.npz: `NAME` the bytes of a file
as u8, `NAME_pixels` u8 [channels, height, width] as Pillow reads the file again.
What it may not know: mascon.
"""

import io

import numpy as np
import PIL
from PIL import Image

import golden_file

H, W = 19, 23
y, x = np.mgrid[0:H, 0:W]
wave = (127 + 120 * np.sin(0.4 * x + 0.2 * y)).astype(np.uint8)
other = ((x * 11) % 256).astype(np.uint8)
noise = ((x * 7919 + y * 104729 + (x * y) ** 2 * 31) % 251).astype(np.uint8)

IMAGES = {
    'grey': (Image.fromarray(wave), {}),
    'grey_noise': (Image.fromarray(noise), {}),
    'grey_alpha': (Image.fromarray(np.stack([wave, other], -1), 'LA'), {}),
    'rgb': (Image.fromarray(np.stack([wave, other, noise], -1)), {}),
    'rgb_stored': (Image.fromarray(np.stack([noise, other, wave], -1)), {'compress_level': 0}),
    'rgb_flat': (Image.new('RGB', (W, H), (10, 200, 30)), {'compress_level': 9}),
    'rgba': (Image.fromarray(np.stack([wave, other, noise, 255 - wave], -1)), {'optimize': True}),
    'bits': (Image.fromarray(wave > 128), {}),
    'palette': (Image.fromarray(np.stack([wave, other, noise], -1)).quantize(200), {}),
    'palette4': (Image.fromarray(np.stack([wave, other, noise], -1)).quantize(13), {'bits': 4}),
    'palette2': (Image.fromarray(np.stack([wave, other, noise], -1)).quantize(4), {'bits': 2}),
    'deep': (Image.fromarray((wave.astype(np.uint16) * 256 + other)), {}),
}


def main():
    arrays = {}
    for name, (image, how) in IMAGES.items():
        out = io.BytesIO()
        image.save(out, 'PNG', **how)
        arrays[name] = np.frombuffer(out.getvalue(), dtype=np.uint8)
        back = Image.open(io.BytesIO(out.getvalue()))
        if back.mode == 'P':
            back = back.convert('RGB')
        v = np.asarray(back)
        if back.mode == '1':
            v = v.astype(np.uint8) * 255
        if v.dtype != np.uint8:
            v = (v.astype(np.uint32) >> 8).astype(np.uint8)
        arrays[name + '_pixels'] = np.moveaxis(v.reshape(H, W, -1), -1, 0)
    golden_file.save('png', {'script': 'make_png.py', 'pillow': PIL.__version__}, arrays)


main()
