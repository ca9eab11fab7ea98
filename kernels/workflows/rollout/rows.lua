-- rows.lua - the ops of rollouts, called by mc.rollout: the pass between convolutions, figures of states. Their
-- operands stand in rollout.c.
--
-- What the fields of a row mean stands in runtime/ops/ops.lua.
return {
  {
    'ro_block', nin = 'list', nout = 'list', dtypes = { 'f32', 'f64' },
    params = { { 'norm', 'int', 0 }, { 'groups', 'int', 1 }, { 'activation', 'int', 0 }, { 'eps', 'number', 1e-5 } },
    tol = 'ACCUM', rules = 'none: analysis end point; operator.build with composed = true has derivatives',
    doc = 'activation of normalised groups of channels, plus what skips them',
    source = 'definition; Instance normalization: the missing ingredient for fast stylization, 2016',
  },
  {
    'ro_state', nin = 'list', nout = 'list', dtypes = { 'f32', 'f64' }, tol = 'ACCUM',
    rules = 'none: analysis end point',
    doc = 'moments, order statistics, gradients and norms at three scales of fields',
    source = 'definitions; features of neural-operator rollouts',
  },
  {
    'ro_power', nin = 'list', nout = 'list', dtypes = { 'f32', 'f64' }, params = { { 'grid', 'int', 0 } },
    tol = 'ACCUM', rules = 'none: analysis end point',
    doc = 'bands, centroid, flatness and kin of power spectra',
    source = 'definitions; features of neural-operator rollouts',
  },
  {
    'ro_cross', nin = 'list', nout = 'list', dtypes = { 'f32', 'f64' }, tol = 'ACCUM',
    rules = 'none: analysis end point',
    doc = 'correlations and mutual information of the channels of states',
    source = 'definitions; features of neural-operator rollouts',
  },
  {
    'ro_flow', nin = 'list', nout = 'list', dtypes = { 'f32', 'f64' }, tol = 'ACCUM',
    rules = 'none: analysis end point',
    doc = 'size and anisotropy of the flow from fields to the next ones',
    source = 'definitions; features of neural-operator rollouts',
  },
}
