-- rows.lua - the op of XPCS fits, called by mc.xpcs; shapes of operands and results stand in xpcs.c, the order of data
-- and sums in device/places.h.
--
-- What the fields of a row mean stands in runtime/ops/ops.lua.
return {
  {
    'xpcs_pass', nin = 'list', nout = 'list', dtypes = { 'f32', 'f64' },
    params = { { 'laminar', 'int', 0 }, { 'scaling', 'int', 0 }, { 'loss', 'int', 0 }, { 'first', 'int', 0 },
      { 'part', 'int', 0 }, { 'kd', 'number' }, { 'ks', 'number', 0 }, { 'f_scale', 'number', 1 } },
    tol = 'ACCUM', rules = 'none: analysis end point',
    doc = 'two-time correlation data -> cost, gradient and normal matrix of the diffusion and shear model',
    source = 'fused Gauss-Newton accumulation; the model: X-ray photon correlation spectroscopy under flow',
  },
}
