-- options.lua - the options of a command: name, kind, what it does; `of`: the commands it belongs to; `texts`: what it
-- does for single commands; `unlisted`: it is taken and does nothing, and the footer of --help names it; `homodyne`: a
-- name of homodyne for what has another one. docs/xpcs-homodyne.md names both of these, docs/xpcs.md all others.
--
-- The script reads its line by this list, and settings from a table of a user's own are checked against it.
local check = require 'mascon.core.check'
local loss = require 'mascon.optim.fit.least_squares.loss'
local M = {}

--- Contrast, offset, q (1/A) and dt (s) of a simulation.
M.CONTRAST, M.OFFSET, M.Q, M.DT = 0.3, 1, 0.0054, 0.1

local EVERY, RUNS, READS = 'fit plot simulate config', 'fit plot simulate', 'fit plot'

--- The commands, that of a line without one first.
M.COMMANDS = {
  { 'fit', 'parameters with errors from two-time matrices (also without the word)' },
  { 'simulate', 'matrices of given parameters with noise: simulated_data.npz, which fit reads' },
  { 'plot', 'heat maps of the data, no fit: experimental_data.svg' },
  { 'config', 'a configuration to edit, or --validate of one' },
}

M.LIST = {
  { 'config', 'string', 'configuration, .yaml or .json, with the keys of homodyne', value = 'FILE', of = RUNS },
  { 'set', 'list', 'keys of the configuration, by their whole paths', value = 'KEY=VALUE,...', of = RUNS },
  { 'data_file', 'string', 'data, instead of that of the configuration', value = 'FILE', of = 'fit plot config' },
  { 'output_dir', 'string', 'folder for the results (./homodyne_results)', value = 'DIR', of = RUNS },
  { 'out', 'string', 'the same', value = 'DIR', of = RUNS },
  { 'method', { 'nlsq', 'cmc', 'both' }, 'least squares (nlsq, the default), posterior by NUTS (cmc), or both',
    of = 'fit' },
  { 'static_mode', 'flag', 'diffusion alone (3 parameters; the default)', of = EVERY },
  { 'laminar_flow', 'flag', 'diffusion and shear (7 parameters)', of = EVERY },
  { 'q', 'number', 'wave vector, 1/A; of a file the nearest one', of = EVERY,
    texts = { simulate = ('wave vector, 1/A (%g)'):format(M.Q) } },
  { 'dt', 'number', 'time between frames, s', of = EVERY,
    texts = { simulate = ('time between frames, s (%g)'):format(M.DT) } },
  { 'gap', 'number', 'stator-rotor gap, A (2e6)', of = 'fit simulate config' },
  { 'start_frame', 'count', 'first frame, from 1; times count from it, so t^alpha is another function', of = READS },
  { 'end_frame', 'integer', 'last frame; -1: all', of = READS },
  { 'full_matrices', 'flag', 'the file holds both triangles', of = READS },
  { 'layout', 'named', 'datasets of an HDF5 file of another beamline; also axis, triangle, near, q_unit, phi_unit',
    value = 'c2=PATH,q=PATH,phi=PATH,dt=PATH', of = READS },
  { 'strict_q', 'flag', 'never take matrices of other q', of = READS },
  { 'one_q', 'flag', 'fit matrices of several q as one (APS layout; a configuration does)', of = 'fit' },
  { 'angles', 'list', 'angles to keep, degrees, such as 3.7,44,-10:10 (the nearest one, or LOW:HIGH)',
    value = 'ANGLE|LOW:HIGH,...', of = READS },
  { 'skip_angles', 'list', 'angles to leave out, in the same way', value = 'ANGLE|LOW:HIGH,...', of = READS },
  { 'dtype', { 'f32', 'f64' }, 'precision in which data are kept', of = READS },
  { 'sigma', 'numbers', 'standard deviation of C2, one number or one per angle (0.01)', of = 'fit' },
  { 'sigma_file', 'string', 'standard deviation of every point: .npy, .npz or .h5, [n, n] or [angles, n, n]',
    value = 'FILE', of = 'fit' },
  { 'mask', 'string', 'which points count (not 0): .npy, .npz or .h5, [n, n] or [angles, n, n]',
    value = 'FILE', of = READS },
  { 'mask_frames', 'list', 'frames of the file, from 1, that do not count, such as 31,70-75', value = 'N,N-M,...',
    of = READS },
  { 'scaling', { 'auto', 'averaged', 'individual', 'constant', 'fourier' },
    'contrast and offset: free for all angles together, for each, or fixed', of = 'fit' },
  { 'loss', loss.NAMES,
    'loss of large residuals (linear; with --config soft_l1)', of = 'fit' },
  { 'f_scale', 'number', 'residual, in sigma, from which a loss bends', of = 'fit' },
  { 'max_iterations', 'count', 'most evaluations of a fit; a fit stopped by this limit is not retried', of = 'fit' },
  { 'tolerance', 'number', 'relative change that ends the fit', of = 'fit' },
  { 'fixed', 'list', 'parameters kept', value = 'NAME=VALUE,...', of = 'fit' },
  { 'tie', 'list', 'parameters that follow another one, such as D_offset=0.1*D0+5',
    value = 'NAME=FACTOR*OTHER+SHIFT,...', of = 'fit' },
  { 'bounds', 'list', 'ranges of parameters, instead of those below', value = 'NAME=LOW:HIGH,...', of = 'fit' },
  { 'initial_d0', 'number', 'D0, A^2/s: the start of a fit', of = 'fit simulate',
    texts = { simulate = 'D0, A^2/s; this and the next ones: values below, where not given' } },
  { 'initial_alpha', 'number', 'alpha', of = 'fit simulate' },
  { 'initial_d_offset', 'number', 'D_offset, A^2/s', of = 'fit simulate' },
  { 'initial_gamma_dot_t0', 'number', 'shear rate, 1/s', of = 'fit simulate' },
  { 'initial_beta', 'number', 'beta', of = 'fit simulate' },
  { 'initial_gamma_dot_offset', 'number', 'offset of the shear rate, 1/s', of = 'fit simulate' },
  { 'initial_phi0', 'number', 'phi0, degrees', of = 'fit simulate' },
  { 'multi_start', 'count', 'also try so many starts, when the first fit is not good', of = 'fit' },
  { 'seed', 'natural', 'seed of starts, retries, draws and simulation (42)', of = 'fit simulate' },
  { 'profile', 'number', 'profile likelihood intervals at this level: 0.68, 0.6827, 0.9, 0.95, 0.99', of = 'fit' },
  { 'legacy_counting', 'flag', 'count both triangles, as homodyne does (errors too small by sqrt 2)', of = 'fit' },
  { 'n_samples', 'count', 'draws per chain of a posterior (1000)', of = 'fit' },
  { 'n_warmup', 'count', 'its warm-up (500)', of = 'fit' },
  { 'n_chains', 'count', 'its chains (4)', of = 'fit' },
  { 'prior', { 'flat', 'normal', 'nlsq' },
    'its prior: flat between the bounds, the table of priors, or around the fit', of = 'fit' },
  { 'target_accept', 'number', 'acceptance its steps aim at, 0 to 1 (0.85): higher for fewer divergences', of = 'fit' },
  { 'dense_mass_matrix', 'flag', 'its metric holds correlations (the default)', homodyne = true, of = 'fit' },
  { 'no_nlsq_warmstart', 'flag', 'chains begin at the starting values, not at the fit', of = 'fit' },
  { 'nlsq_result', 'string', 'starting values of an earlier fit', value = 'DIR', of = 'fit' },
  { 'cmc_num_shards', 'count', 'also the combination of so many shards, as homodyne makes it', of = 'fit' },
  { 'cmc_backend', { 'auto', 'pjit', 'multiprocessing', 'pbs' }, 'accepted, without effect',
    unlisted = true, of = 'fit' },
  { 'model', 'string', 'fit a g1 of your own: a Lua file that returns { g1, p0, bounds }', value = 'FILE.lua',
    of = 'fit' },
  { 'p0', 'list', 'its starting values, instead of those of the file', value = 'NAME=VALUE,...', of = 'fit' },
  { 'joint', 'list', 'fit further data sets at once: files, or other q (1/A) of the same file',
    value = 'FILE|Q,...', of = 'fit' },
  { 'shared', 'list', 'the parameters in common of a joint fit (all of the physics)', value = 'NAME,...',
    of = 'fit' },
  { 'save_plots', 'flag', 'heat maps of every angle', of = 'fit' },
  { 'plot_experimental_data', 'flag', 'the same as the command plot', homodyne = true, of = 'plot' },
  { 'plot_simulated_data', 'flag', 'the same as the command simulate', homodyne = true, of = 'simulate' },
  { 'contrast', 'number', 'contrast of a simulation (0.3)', of = 'simulate' },
  { 'offset', 'number', 'offset of a simulation (1)', of = 'simulate' },
  { 'phi_angles', 'string', 'angles of a simulation, degrees (0,45,90)', value = '"0,45,90"', of = 'simulate' },
  { 'frames', 'count', 'frames of a simulation (100)', of = 'simulate' },
  { 'noise', 'number', 'standard deviation of its noise (0.01)', of = 'simulate' },
  { 'mode', { 'static', 'laminar_flow' }, 'mode of a new configuration', default = 'laminar_flow', of = 'config' },
  { 'output', 'string', 'file of a new configuration', value = 'FILE', default = 'xpcs.yaml', of = 'config' },
  { 'overwrite', 'flag', 'replace results, or a configuration, that are there', of = EVERY },
  { 'force', 'flag', 'the same, for a configuration', homodyne = true, of = 'config' },
  { 'validate', 'string', 'check a configuration and write none', value = 'FILE', of = 'config' },
  { 'filter', { 'full', 'minimal', 'nlsq_only', 'cmc_only' }, 'accepted, without effect',
    unlisted = true, of = 'config' },
  { 'cmc_plot_diagnostics', 'flag', 'accepted: figures of a posterior are always made', unlisted = true, of = 'fit' },
  { 'plotting_backend', { 'auto', 'matplotlib', 'datashader' }, 'accepted, without effect',
    unlisted = true, of = RUNS },
  { 'parallel_plots', 'flag', 'accepted, without effect', unlisted = true, of = RUNS },
  { 'no_jit', 'flag', 'accepted, without effect', unlisted = true, of = RUNS },
  { 'version', 'flag', 'print the version', of = EVERY },
  { 'output_format', { 'yaml', 'json', 'npz' }, 'beside the JSON: tables as YAML, nothing, or parameters.npz',
    default = 'yaml', of = 'fit' },
  { 'threads', 'count', 'worker threads (all cores); results do not depend on it', of = RUNS },
  { 'device', 'string', 'where passes over the data run: cpu, gpu, cuda:0, opencl:0, or auto: what '
    .. 'MASCON_DEVICE names, else a card where there is one, else the CPU; several, such as cuda:0,cuda:1, share them',
    of = 'fit' },
  { 'checkpoint_dir', 'string', 'folder of checkpoints: a fit that was stopped goes on from there', value = 'DIR',
    of = 'fit' },
  { 'max_memory', 'string', 'memory the data may take; larger ones are streamed from a packed file',
    value = 'SIZE', of = READS },
  { 'pack', 'string', 'packed file to stream from, made when it is not there; no other file is replaced',
    value = 'FILE', of = READS },
  { 'no_arrays', 'flag', 'no fitted_data', of = 'fit' },
  { 'verbose', 'integer', 'more words', of = EVERY },
  { 'quiet', 'flag', 'no progress', of = EVERY },
}

local function parameter_lines(out, simulate)
  local parameters, text = require 'workflows.xpcs.model.parameters', require 'mascon.base.text'
  out[#out + 1] = simulate and 'Parameters (unit; value; bounds of a fit):'
    or 'Parameters (unit; start, where no scan of the data finds one; bounds):'
  local function line(p, start)
    local unit = p.unit ~= '' and p.unit or '-'
    local low, high = text.significant(p.min, 6), text.significant(p.max, 6)
    out[#out + 1] = ('  %-19s %-6s %-9s %8s .. %-8s  %s'):format(p.name, unit, start, low, high, p.about)
  end
  line(parameters.CONTRAST, simulate and ('%g'):format(M.CONTRAST) or 'quantiles')
  line(parameters.OFFSET, simulate and ('%g'):format(M.OFFSET) or 'quantiles')
  for _, p in ipairs(parameters.LIST) do line(p, ('%g'):format(p.default)) end
end

local function file_lines(out)
  out[#out + 1] = (#out > 0 and '\n' or '') .. 'HDF5 files (.h5, .hdf, .hdf5, .nxs) hold'
  for _, l in ipairs(require('workflows.xpcs.read.layout').LIST) do
    out[#out + 1] = ('  %s:'):format(l.name)
    for _, row in ipairs(l) do out[#out + 1] = ('    %-36s %s'):format(row[1], row[2]) end
  end
  out[#out + 1] = '  Others: --layout c2=PATH,q=PATH,phi=PATH,dt=PATH, or experimental_data.layout of a configuration.'
  out[#out + 1] = 'NPZ files hold c2_exp [angles, n, n], phi_angles_list (degrees), t1 (s), q (1/A).'
end

--- What stands below the options in --help of a command: parameters with their bounds, and the arrays that are read.
---@param command? string (fit)
---@return string
function M.footer(command)
  local out = {}
  if command ~= 'plot' then parameter_lines(out, command == 'simulate') end
  if (command or 'fit') == 'fit' then
    out[#out + 1] = '  Other bounds: --bounds NAME=LOW:HIGH,... or parameter_space.bounds of a configuration.'
  end
  if (command or 'fit') == 'fit' or command == 'plot' then file_lines(out) end
  local idle = {}
  for _, o in ipairs(M.LIST) do
    if o.unlisted and (' ' .. o.of .. ' '):find(' ' .. (command or 'fit') .. ' ', 1, true) then
      idle[#idle + 1] = '--' .. o[1]:gsub('_', '-')
    end
  end
  if idle[1] then
    out[#out + 1] = 'Options of homodyne that are taken and have no effect: ' .. table.concat(idle, ', ') .. '.'
  end
  out[#out + 1] = 'docs/xpcs.md says more.'
  return table.concat(out, '\n')
end

local KNOWN = {}
for _, option in ipairs(M.LIST) do KNOWN[option[1]] = true end

--- Raises for a name that is no option.
---@param o table
function M.known(o)
  for name in pairs(o) do
    if type(name) ~= 'number' and not KNOWN[name] then
      local all = {}
      for _, option in ipairs(M.LIST) do all[#all + 1] = option[1] end
      local near = type(name) == 'string' and check.nearest(name, all)
      check.error(('xpcs.run: there is no option %s%s'):format(tostring(name), near
        and (' (did you mean %s?)'):format(near) or '; mascon scripts/xpcs.lua --help lists them'), 0)
    end
  end
end

return M
