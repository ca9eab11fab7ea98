-- families.lua - the opt-in families of features per step: the only list of them.
--
-- A name is a key of `features` in a configuration, a word of extract-features, and the module features/NAME.lua with
-- NAMES and columns(x): x [n B C, G, G], a state of one channel each; with WHOLE, columns(x, last) of whole states.
return { NAMES = { 'distributional', 'wavelet', 'metrics' } }
