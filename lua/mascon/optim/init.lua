--- mascon.optim: minimisers, least squares, fits of models, surrogates.
--
-- Parts are loaded when first touched. Owns nothing.
local M = {}

-- name = module that holds it
local FROM = {
  least_squares = 'mascon.optim.least_squares',
}

return setmetatable(M, {
  __index = function(t, name)
    local part = FROM[name]
    if not part then return nil end
    local v = require(part)[name]
    rawset(t, name, v)
    return v
  end,
})
