-- laws.lua - ops without golden cases, because their results are not unique or random: the spec named beside them holds
-- them to laws.
return {
  -- linalg_spec: bases that are not unique, functions as arguments, eigenvalues in no order, steps of compositions
  'qr', 'svd', 'eigh', 'eig', 'eigvals', 'hessenberg', 'schur', 'null_space', 'orth', 'funm', 'schur_form',
  'least_squares', 'sqrt_upper', 'log_upper',
  'namespace_info', -- arrayapi_spec: functions that report
  'put', 'index_add', -- arrayapi_spec: against index expressions of NumPy
  'levinson', -- a step of solve_toeplitz
  -- random_sample_spec, random_sequence_spec: random
  'dirichlet', 'multivariate_normal', 'wishart', 'permutation', 'shuffle', 'choice', 'latin_hypercube',
}
