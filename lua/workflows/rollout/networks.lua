-- networks.lua - the types of operators: the only table of them, read by configurations, spaces, plans and pictures.
--
-- A type says where its layers stand, or, of one that a script registers, how it is built; and what it can do.
local M = {}

-- module: layers and one application · section: names of a section of its own in the parameter space · storage: tensors
-- between layers may have 16 bits · cards: runs on devices · alike: operators with equal sizes are rolled out side by
-- side · hidden: noise acts on the last hidden tensor (else on the output) · label: f(arch) for titles
local TYPES = {
  cnn = { module = 'workflows.rollout.operator.cnn', storage = true, cards = true, alike = true, hidden = true,
    label = function(arch) return ('L%d b%d k%d'):format(arch.layers, arch.base, arch.kernel) end },
  u_afno = { module = 'workflows.rollout.operator.u_afno', section = 'u_afno',
    label = function(arch) return ('u_afno b%d'):format(arch.base) end },
}

M.DEFAULT = 'cnn'

--- Names of the types, sorted.
---@return string[]
function M.names()
  local out = {}
  for name in pairs(TYPES) do out[#out + 1] = name end
  table.sort(out)
  return out
end

--- What a type can do; nil for one that there is not.
---@param name? string (cnn)
---@return table?
function M.of(name) return TYPES[name or M.DEFAULT] end

--- An operator in words: "L3 b4 k3, instance norm, gelu, 64x64"; of one that a script registers, name and grid.
---@param arch table
---@return string
function M.title(arch)
  local type_of, grid = M.of(arch.type), ('%dx%d'):format(arch.grid, arch.grid)
  if type_of.own then return ('%s, %s'):format(type_of.label(arch), grid) end
  return ('%s, %s, %s, %s'):format(type_of.label(arch), arch.norm == 'none' and 'no norm' or arch.norm .. ' norm',
    arch.activation == 'none' and 'no activation' or arch.activation, grid)
end

--- Layers and application of a type that has them.
---@param name? string (cnn)
---@return table
function M.module(name) return require(TYPES[name or M.DEFAULT].module) end

--- Adds a type: { build, flops, compile } of operator.register.
---@param name string
---@param entry table
function M.add(name, entry)
  entry.own = true
  entry.label = function() return name end
  TYPES[name] = entry
end

return M
