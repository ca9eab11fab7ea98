-- u_afno.lua - operators of type u_afno: down in resolution, mixing of the lowest Fourier modes there, and up again.
--
-- Encoder: a Block, then per level residual units, and a Block of stride 2. Bottleneck: x + S(norm x), x + MLP(norm x).
-- Decoder: doubled resolution beside what the level had, a Block, residual units. Source: specification of rollouts,
-- 2.1; Adaptive Fourier neural operators, 2022.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local leaves = require 'workflows.rollout.leaf'
local error, int = check.error, leaves.int
local M = {}

local SIZE = 2 ^ 16

-- names of the section of the space, in order
M.LEAVES = { { 'modes', int(32, 1, SIZE) }, { 'hidden_dim', int(nil, 1, SIZE) }, { 'encoder_levels', int(3, 1, 16) },
  { 'afno_blocks', int(4, 1, 256) }, { 'blocks_per_level', int(2, 1, 256) } }
M.FITS = 'encoder_levels' -- of these, what the grid must fit

--- Refuses sizes that do not fit one another.
---@param arch table grid, u_afno.encoder_levels
function M.check(arch)
  local levels = arch.u_afno.encoder_levels
  if arch.grid % 2 ^ levels == 0 then return end
  error(('grid_size %d is no multiple of 2^encoder_levels = %d; give multiples of it, or fewer levels'):format(
    arch.grid, 2 ^ levels), 0)
end

--- The layers in the order of evaluation, as cnn.layers; spectral ones have rows and columns of modes.
function M.layers(arch)
  local list, bias, u, G = {}, arch.norm == 'none', arch.u_afno, arch.grid
  local function add(cin, cout, k, with, part, stride)
    list[#list + 1] = { cin = cin, cout = cout, k = k, bias = with, part = part, stride = stride, grid = G }
  end
  local function unit(cin, cout)
    add(cin, cout, 3, bias, 'first')
    add(cout, cout, 3, bias, 'second')
    if cin ~= cout then add(cin, cout, 1, false, 'projection') end
  end
  add(arch.channels, arch.base, 3, bias, 'block')
  local c, kept = arch.base, {}
  for level = 1, u.encoder_levels do
    local cout = math.min(2 * c, 8 * arch.base)
    for k = 1, u.blocks_per_level do unit(k == 1 and c or cout, cout) end
    c, kept[level], G = cout, cout, G / 2
    add(c, c, 3, bias, 'down', 2)
  end
  local hidden = u.hidden_dim or 2 * c
  for _ = 1, u.afno_blocks do
    list[#list + 1] = { cin = c, cout = c, part = 'spectral', rows = math.min(u.modes, G),
      columns = math.min(u.modes, math.floor(G / 2) + 1), grid = G }
    for _, width in ipairs { 2 * c, hidden } do
      add(c, width, 1, true, 'widen')
      add(width, c, 1, true, 'narrow')
    end
  end
  for level = u.encoder_levels, 1, -1 do
    G = G * 2
    add(c + kept[level], kept[level], 3, bias, 'up')
    c = kept[level]
    for _ = 1, u.blocks_per_level do unit(c, c) end
  end
  add(c, arch.channels, 1, true, 'output')
  return list
end

--- Weights of a spectral layer as the product needs them: complex [modes, cin, cout] from re, im [cin, cout, rows,
--- columns].
function M.mixing(re, im)
  local w = mc.complex(re, im)
  return w:reshape(w.shape[1], w.shape[2], -1):permute_dims(3, 1, 2):copy()
end

--- Mixes the channels of the lowest modes: all others become 0.
local function mixed(x, layer, p)
  local B, C, H, W = x.shape[1], x.shape[2], x.shape[3], x.shape[4]
  local at = { axes = { -2, -1 }, norm = 'ortho' }
  local low = mc.fft.rfftn(x, at)[{ mc.all, mc.all, { 1, layer.rows }, { 1, layer.columns } }]
  local by_mode = low:permute_dims(3, 4, 1, 2):reshape(layer.rows * layer.columns, B, C)
  local new = mc.matmul(by_mode, p.mix):reshape(layer.rows, layer.columns, B, layer.cout):permute_dims(3, 4, 1, 2)
  local half = math.floor(W / 2) + 1
  local all = mc.pad(new, { { 0, 0 }, { 0, 0 }, { 0, H - layer.rows }, { 0, half - layer.columns } })
  -- the kept half of column 0 is not Hermitian: complex along the rows first, then real along the columns
  return mc.fft.irfft(mc.fft.ifft(all, { axis = -2, norm = 'ortho' }), { axis = -1, n = W, norm = 'ortho' })
end

--- Twice as many places along an axis: each pair is 1/4 and 3/4 of neighbours, the edge repeated.
local function doubled(x, axis)
  local n = x.shape[axis]
  local function part(a, b)
    local at = { mc.all, mc.all, mc.all, mc.all }
    at[axis] = { a, b }
    return x[at]
  end
  local before = mc.concat({ part(1, 1), part(1, n - 1) }, axis)
  local after = mc.concat({ part(2, n), part(n, n) }, axis)
  local shape = { unpack(x.shape) }
  shape[axis] = 2 * n
  return mc.stack({ 0.25 * before + 0.75 * x, 0.75 * x + 0.25 * after }, axis + 1):reshape(unpack(shape))
end

--- The last hidden tensor of states x; see cnn.hidden.
function M.hidden(kit, layers, weights, x, arch)
  local at, u = 0, arch.u_afno
  local function conv(h)
    at = at + 1
    return kit.conv(h, layers[at], weights[at])
  end
  local function block(h)
    local y = conv(h)
    local z = kit.finish(y)
    kit.free(y)
    return z
  end
  local function unit(h)
    local a = block(h)
    local y = conv(a)
    kit.free(a)
    local skip = h
    if layers[at + 1].part == 'projection' then skip = conv(h) end
    local z = kit.finish(y, skip)
    kit.free(y)
    if skip ~= h then kit.free(skip) end
    kit.free(h)
    return z
  end
  local function mlp(h)
    local y = conv(h)
    local a = kit.finish(y, nil, 'none')
    kit.free(y)
    local z = conv(a)
    kit.free(a)
    return z
  end
  local h, skips = block(x), {}
  for level = 1, u.encoder_levels do
    for _ = 1, u.blocks_per_level do h = unit(h) end
    skips[level] = h
    h = block(h)
  end
  for _ = 1, u.afno_blocks do
    at = at + 1
    local s = mixed(kit.finish(h, nil, 'layer', 'none'), layers[at], weights[at])
    h = h + mlp(s)
    h = h + mlp(kit.finish(h, nil, 'layer', 'none'))
  end
  for level = u.encoder_levels, 1, -1 do
    h = block(mc.concat({ doubled(doubled(h, 3), 4), skips[level] }, 2))
    kit.free(skips[level])
    for _ = 1, u.blocks_per_level do h = unit(h) end
  end
  return h
end

return M
