-- keys.lua - every key that a configuration may hold, its kind, and whether it does something here.
--
-- A leaf is the kind of its value: 'number', 'integer', 'bool', 'string', 'list', 'map', 'any' or a list of choices.
-- UNUSED marks a key or a whole section that steers machinery of homodyne which does not exist here; it is accepted, so
-- that a configuration works unchanged, counted in the notes of a run, and listed on request. Under '*' stands the kind
-- of every other key of a section.
local loss = require 'mascon.optim.fit.least_squares.loss'
local M = {}

M.UNUSED = setmetatable({}, { __tostring = function() return 'unused' end })
local U = M.UNUSED

--- The keys of a section that are accepted and have no effect.
local function unused(text, keys)
  keys = keys or {}
  for name in text:gmatch '%S+' do keys[name] = U end
  return keys
end

local CHECKPOINTS = {
  enable_checkpoints = 'bool', checkpoint_dir = 'string', checkpoint_frequency = 'integer',
    resume_from_checkpoint = 'bool', keep_last_checkpoints = 'integer', enable_fault_tolerance = 'bool',
  max_retries_per_batch = 'integer', min_success_rate = 'number', batch_size = 'integer', adaptive_batching = U,
  seed = 'integer',
}

-- the posterior: what is not named here steers upstream's shards and back ends
local CMC = { ['*'] = U,
  per_angle_mode = { 'auto', 'individual', 'constant', 'constant_averaged', 'averaged', 'fourier' },
  sharding = { ['*'] = U, num_shards = 'any', seed = 'any' },
  per_shard_mcmc = { ['*'] = U, num_warmup = 'any', num_samples = 'any', num_chains = 'any', target_accept_prob = 'any',
    max_tree_depth = 'any', dense_mass = 'any', seed = 'any' },
  num_warmup = 'any', num_samples = 'any', num_chains = 'any', target_accept_prob = 'any', max_tree_depth = 'any',
  dense_mass_matrix = 'any', seed = 'any', prior = { 'flat', 'normal', 'nlsq' }, noise = { 'auto', 'fixed', 'free' },
}

M.SCHEMA = {
  metadata = U, analysis_settings = U, noise_estimation = U, logging = U, quality_control = U, validation = U,
  analysis_mode = { 'static', 'static_isotropic', 'laminar_flow' },
  analyzer_parameters = {
    dt = 'number', start_frame = 'integer', end_frame = 'integer', scattering = { wavevector_q = 'number' },
      geometry = { stator_rotor_gap = 'number' },
    phase_convention = { 'qL/2pi', 'qL/2' },
  },
  experimental_data = unused('phi_angles_path phi_angles_file exchange_key file_format', {
    file_path = 'string', data_folder_path = 'string', data_file_name = 'string', cache_file_path = 'string',
      cache_filename_template = 'string', cache_compression = 'bool',
    data_type = { 'float64', 'float32' }, sigma = 'any', mask = 'string', zero_sigma_is_mask = 'bool',
    full_matrices = 'bool', diagonal = 'string', q_tolerance_fraction = 'number', strict_q = 'bool', cache = 'bool',
    layout = { c2 = 'string', q = 'any', phi = 'any', dt = 'any', axis = 'integer', triangle = 'string', near = 'bool',
      q_unit = 'string', phi_unit = 'string' },
  }),
  phi_filtering = unused('fallback_to_all_angles algorithm tolerance quality_control', { enabled = 'bool',
    target_ranges = 'list' }),
  initial_parameters = unused('units', {
    parameter_names = 'list', values = 'list', active_parameters = 'list', fixed_parameters = 'map',
      tied_parameters = 'map', per_angle_scaling = { contrast = 'list', offset = 'list' },
  }),
  parameter_space = { model = U, bounds = 'list', priors = 'any' },
  optimization = {
    method = { 'nlsq', 'cmc', 'mcmc' },
    nlsq = unused([[workflow goal memory_fraction memory_threshold_gb use_streaming
      verbose progress diagnostics hybrid_streaming streaming stratified recovery force_stratified_ls]], {
      x_scale = { 'jac' },
      max_iterations = 'integer', tolerance = 'number', ftol = 'number', xtol = 'number', gtol = 'number',
      loss = loss.NAMES, f_scale = 'number',
      trust_region_scale = 'number', x_scale_map = 'map', legacy_counting = 'bool', legacy_abs = 'bool',
      anti_degeneracy = unused('enable fourier_auto_threshold hierarchical regularization gradient_monitoring', {
        per_angle_mode = { 'auto', 'individual', 'independent', 'constant', 'averaged', 'fourier' },
          constant_scaling_threshold = 'integer', fourier_order = 'integer',
        shear_weighting = unused('update_frequency', { enable = 'bool', alpha = 'number', min_weight = 'number',
          normalize = 'bool' }),
      }),
      multi_start = unused('n_workers screen_keep_fraction refine_top_k degeneracy_threshold', {
        enable = 'bool', n_starts = 'integer', seed = 'integer', sampling_strategy = { 'latin_hypercube', 'random' },
          use_screening = 'bool', refinement_ftol = 'number',
      }),
      cmaes = unused([[preset nlsq_warmstart sigma_warmstart population_batch_size
        data_chunk_size memory_limit_gb auto_select
        scale_threshold normalize normalization_epsilon refine_with_nlsq refinement_workflow refinement_xtol
        refinement_gtol
        refinement_max_nfev refinement_loss diagonal_filtering]], {
        enable = 'bool', max_generations = 'integer', sigma = 'number', warmstart_auto_skip = 'bool',
          warmstart_skip_threshold = 'number', seed = 'integer', popsize = 'integer',
          tol_fun = 'number', tol_x = 'number',
          restart_strategy = { 'none', 'ipop', 'bipop' }, max_restarts = 'integer', refinement_ftol = 'number',
      }),
      quality_validation = unused(
        'enable warn_on_max_restarts warn_on_bounds_hit warn_on_convergence_failure bounds_tolerance',
        { reduced_chi_squared_threshold = 'number' }),
    }),
    streaming = CHECKPOINTS, stratification = U, sequential = U, recovery = U, mcmc = U, cmc = CMC,
  },
  performance = unused('memory_optimization device', {
    strategy_override = { 'standard', 'large', 'chunked', 'streaming', 'STANDARD', 'LARGE', 'CHUNKED', 'STREAMING' },
    memory_limit_gb = 'number', enable_progress = 'bool',
    computation = unused('enable_jit vectorization_level', { cpu_threads = 'any', device = 'string' }),
  }),
  plotting = unused([[show_plots dpi style preview_mode fit_surface datashader matplotlib correlation_function
    fit_quality parameter_distributions residual_analysis angle_coverage
    angle_correlation]], {
    save_plots = 'bool', format = 'string',
    color_scale = unused('pin_legacy_range', { mode = 'string', percentile_min = 'number', percentile_max = 'number',
      fixed_min = 'number', fixed_max = 'number' }),
  }),
  output = unused('base_directory formats create_subdirs timestamp_dirs compress_hdf5 compression_level',
    { directory = 'string' }),
}

--- The kind at a path such as 'optimization.nlsq.loss'; nil when there is none. Below an unused section everything is
--- UNUSED.
function M.at(path)
  local node = M.SCHEMA
  for part in path:gmatch '[^.]+' do
    if node == U then return U end
    if type(node) ~= 'table' or node[1] then return nil end
    node = node[part] or node['*']
    if node == nil then return nil end
  end
  return node
end

return M
