-- programs.lua - random functions with writes, aliases, objects and captured tables: plain against compiled, batched
-- and differentiated.
--
--     mascon tests/soak/programs.lua [--count N] [--seed N] [--seconds N] [--state FILE]
--
-- A program is drawn from its seed. It runs in two worlds made alike, plainly in one and transformed in the other;
-- results and all tensors of the worlds must agree after each call, also when the program's surroundings change between
-- calls. Gradients are held against central differences. The run stops after --seconds and goes on where --state says
-- it stopped.
local mc = require 'mascon'

local M = {}

-- ---------------------------------------------------------------- drawing

--- draw(lo, hi): whole numbers from a seed (Lehmer's generator, modulus 2^31 - 1).
local function drawer(seed)
  local state = (seed * 7919 + 12345) % 2147483647
  for _ = 1, 3 do state = state * 16807 % 2147483647 end
  return function(lo, hi)
    state = state * 16807 % 2147483647
    return lo + state % (hi - lo + 1)
  end
end

local Net = {}
Net.__index = Net
function Net:run(t) return mc.tanh(t * self.w + self.b) * self.scale end

--- Tensors of a program, the same for the same seed.
local function world(seed)
  local function t(k, ...) return mc.randn { seed = seed * 100 + k, ... } end
  local size = seed % 3 == 0 and 200 or 3 -- small tensors lie within their handles, large ones do not
  local w = { size = size, x = t(1, size), y = t(2, size), held = t(3, size),
    net = setmetatable({ w = t(4, size), b = t(5, size), scale = 1.5, name = 'net' }, Net) }
  w.box = { w = t(6, size), k = 0.5, deep = { v = t(7, size), list = { t(8, size), 2 } }, mode = 'a',
    net = setmetatable({ w = t(9, size), b = t(10, size), scale = 0.5 }, Net) }
  return w
end

--- All tensors of a world, by name.
local function state_of(w)
  return {
    x = w.x, y = w.y, held = w.held, w = w.net.w, b = w.net.b, ['box.w'] = w.box.w, ['box.deep.v'] = w.box.deep.v,
    ['box.deep.list'] = w.box.deep.list[1], ['box.net.w'] = w.box.net.w,
  }
end

-- ---------------------------------------------------------------- steps

-- Each: function(values, world) that reads and writes values[a], values[b]; writes: what it may write to ('value',
-- 'outside').
local STEPS = {
  { 'add', function(v, a, b) v[#v + 1] = v[a] + v[b] end },
  { 'times', function(v, a, b) v[#v + 1] = mc.tanh(v[a]) * v[b] end },
  { 'half', function(v, a) v[#v + 1] = v[a] * 0.5 - 0.25 end },
  { 'sin', function(v, a) v[#v + 1] = mc.sin(v[a]) end },
  { 'copy', function(v, a) v[#v + 1] = v[a]:copy() end },
  { 'mean', function(v, a, b) v[#v + 1] = mc.mean(v[a]) + v[b] * 0.1 end },
  { 'view', function(v, a) v[#v + 1] = v[a]['1:'] end },
  { 'turned', function(v, a, b) v[#v + 1] = mc.flip(v[a], 1) + v[b] end },
  { 'box', function(v, a, _, w) v[#v + 1] = v[a] * w.box.k + w.box.deep.list[1] * w.box.deep.list[2] end },
  { 'mode', function(v, a, _, w) v[#v + 1] = w.box.mode == 'a' and v[a] + w.box.w or v[a] - w.box.deep.v end },
  { 'net', function(v, a, _, w) v[#v + 1] = w.net:run(v[a]) end },
  { 'boxed net', function(v, a, _, w) v[#v + 1] = w.box.net:run(v[a]) end },
  { 'held', function(v, a, _, w) v[#v + 1] = v[a] * w.held end },
  { 'twice', function(v, a, b) v[#v + 1] = mc.tanh(v[a] + v[b]) + mc.tanh(v[a] + v[b]) end },
  { 'add_', function(v, a, b) v[a]:add_(mc.tanh(v[b])) end, 'value' },
  { 'mul_', function(v, a) v[a]:mul_(0.75) end, 'value' },
  { 'element', function(v, a, b) v[a][1] = mc.mean(v[b]) end, 'value' },
  { 'fill', function(v, a) v[a]['2:3'] = 0.5 end, 'value' },
  { 'part', function(v, a, b) v[a]['1:2'] = mc.sin(v[b]['2:3']) end, 'value' },
  { 'box add_', function(v, a, _, w) w.box.w:add_(mc.tanh(v[a])) end, 'outside' },
  { 'held mul_', function(_, _, _, w) w.held:mul_(0.9) end, 'outside' },
  { 'net mul_', function(_, _, _, w) w.net.w:mul_(0.9) end, 'outside' },
  { 'boxed net part', function(v, a, _, w) w.box.net.b['1:2'] = v[a]['1:2'] end, 'outside' },
}

--- The choices of a program: { steps = { { number, a, b } ... }, alias, outside, results }.
local function program(seed)
  local draw = drawer(seed)
  local p, values = { steps = {}, alias = draw(1, 5) == 1, outside = draw(1, 3) == 1, views = draw(1, 3) == 1 }, 2
  for _ = 1, draw(3, 10) do
    local k = draw(1, #STEPS)
    if STEPS[k][3] ~= 'outside' or p.outside then
      p.steps[#p.steps + 1] = { k, draw(1, values), draw(1, values) }
      if not STEPS[k][3] then values = values + 1 end
    end
  end
  p.last = { draw(1, values), draw(1, values) }
  return p
end

local function text(p)
  local out = { p.alias and 'f(x, x)' or 'f(x, y)' }
  for i, s in ipairs(p.steps) do out[i + 1] = ('%s %d %d'):format(STEPS[s[1]][1], s[2], s[3]) end
  return table.concat(out, '; ')
end

--- The function of a program in a world: loss, and with `all` two of its values too (views and arguments among them).
local function build(p, w, all)
  local net, box, held = w.net, w.box, w.held
  return function(x, y)
    local v, outside = { x, y }, { net = net, box = box, held = held }
    for _, s in ipairs(p.steps) do STEPS[s[1]][2](v, s[2], s[3], outside) end
    local loss = mc.sum(mc.tanh(v[#v])) + mc.sum(v[p.last[1]] * v[p.last[2]])
    if all then return loss, v[p.last[1]], v[p.last[2]] end
    return loss
  end
end

-- ---------------------------------------------------------------- checks

local function close(want, got, what, tolerance)
  assert(tostring(want.shape) == tostring(got.shape),
    ('%s: %s and %s'):format(what, tostring(want.shape), tostring(got.shape)))
  local far = mc.max(mc.abs(want - got) / (mc.abs(want) + 1)):item()
  assert(far <= (tolerance or 1e-12), ('%s: off by %g'):format(what, far))
end

local function alike(a, b, what)
  local s, t = state_of(a), state_of(b)
  for name, v in pairs(s) do close(v, t[name], what .. ': ' .. name) end
end

--- What happens around a program between two calls.
local function change(w, turn)
  if turn == 1 then w.box.k = 0.75
  elseif turn == 2 then
    w.box.w = w.box.w * 0.5
    w.net.b:add_(0.1)
  elseif turn == 3 then
    w.box.mode = 'b'
    w.net.w = w.net.w - 0.2
    w.box.deep.list[2] = 3
  elseif turn == 4 then w.box.deep = { v = w.box.deep.v * 2, list = { w.box.deep.list[1] + 0, 1.5 } }
  end
end

local function operands(p, w) return w.x, p.alias and w.x or w.y end

local function compiled(p, seed)
  local a, b = world(seed), world(seed)
  local plain, f = build(p, a, true), mc.compile(build(p, b, true), { tier = 'vm' })
  for turn = 0, 5 do
    local w1, w2, w3 = plain(operands(p, a))
    local g1, g2, g3 = f(operands(p, b))
    local what = ('compiled, call %d'):format(turn + 1)
    close(w1, g1, what)
    close(w2, g2, what .. ': second')
    close(w3, g3, what .. ': third')
    alike(a, b, what)
    if p.views then -- a write to a result reaches what it reaches in the plain function
      w2:mul_(0.5)
      g2:mul_(0.5)
      close(w3, g3, what .. ': third, after a write to the second')
      alike(a, b, what .. ', after a write to the second')
    end
    change(a, turn)
    change(b, turn)
  end
end

local function batched(p, seed)
  local a, b, c = world(seed), world(seed), world(seed)
  local n, f = a.size, build(p, a)
  local function rows(k) return mc.randn { 3, n, seed = seed * 100 + k } end
  local x, y, u, v, r, s = rows(50), rows(51), rows(50), rows(51), rows(50), rows(51)
  local want = {}
  for i = 1, 3 do want[i] = f(x[i], p.alias and x[i] or y[i]) end
  want = mc.stack(want, 1)
  local g, h = mc.vmap(build(p, b)), mc.compile(mc.vmap(build(p, c)), { tier = 'vm' })
  close(want, g(u, p.alias and u or v), 'vmap')
  close(want, h(r, p.alias and r or s), 'compiled vmap')
  close(x, u, 'vmap: x')
  close(y, v, 'vmap: y')
  close(x, r, 'compiled vmap: x')
  close(y, s, 'compiled vmap: y')
  alike(a, b, 'vmap')
end

local function differentiated(p, seed)
  local a, b, c = world(seed), world(seed), world(seed)
  local value = build(p, a)(a.x, a.y)
  local v, g = mc.value_and_grad(build(p, b))(b.x, b.y)
  close(value, v, 'value_and_grad')
  alike(a, b, 'value_and_grad')
  local outside = false
  for _, s in ipairs(p.steps) do outside = outside or STEPS[s[1]][3] == 'outside' end
  if not outside then -- a write to what the enclosing function holds is refused there
    close(g, mc.compile(mc.grad(build(p, c)), { tier = 'vm' })(c.x, c.y), 'compiled grad', 1e-10)
    alike(a, c, 'compiled grad')
  end
  local d = mc.randn { a.size, seed = seed + 7 }
  local h = 1e-5
  local function at(step)
    local w = world(seed)
    w.x:add_(d * step)
    return build(p, w)(w.x, w.y)
  end
  close((at(h) - at(-h)) / (2 * h), mc.sum(g * d), 'grad against differences', 1e-6)
end

--- Runs the program of a seed through everything that it can be put through; an error names it.
---@param seed integer
---@return integer checks
function M.check(seed)
  local p, done = program(seed), 0
  local writes = false
  for _, s in ipairs(p.steps) do writes = writes or STEPS[s[1]][3] ~= nil end
  local function run(f)
    local ok, why = xpcall(function() f(p, seed) end, function(e) return debug.traceback(tostring(e), 2) end)
    if not ok then error(('program %d (%s): %s'):format(seed, text(p), why), 0) end
    done = done + 1
  end
  run(compiled)
  -- what batches and derivatives refuse: writes outside, writes to memory that two arguments share
  local outside = false
  for _, s in ipairs(p.steps) do outside = outside or STEPS[s[1]][3] == 'outside' end
  if not outside and not (p.alias and writes) then run(batched) end
  -- and derivatives of functions that write to a captured tensor of few elements, which has no buffer
  if not p.alias and not (outside and world(seed).size == 3) then run(differentiated) end
  return done
end

-- ---------------------------------------------------------------- the job

local function main(args)
  local o = { count = 2000, seed = 1, seconds = 3600 }
  local i = 1
  while args[i] do
    local name = args[i]:match '^%-%-(%a+)$'
    if not (name == 'count' or name == 'seed' or name == 'seconds' or name == 'state') or not args[i + 1] then
      io.stderr:write('programs.lua: ', args[i],
        ' is not understood; there are --count N, --seed N, --seconds N and --state FILE\n')
      os.exit(2)
    end
    o[name] = name == 'state' and args[i + 1] or assert(tonumber(args[i + 1]), args[i] .. ' needs a number')
    i = i + 2
  end
  local first = o.seed
  local file = o.state and io.open(o.state)
  if file then
    first = file:read '*n' or first
    file:close()
  end
  local start, checks, failed, seed = os.time(), 0, 0, first
  while seed < o.seed + o.count and os.time() - start < o.seconds do
    local ok, n = pcall(M.check, seed)
    if ok then checks = checks + n
    else
      failed = failed + 1
      io.stderr:write(n, '\n')
    end
    seed = seed + 1
    if o.state then
      local out = assert(io.open(o.state, 'w'))
      out:write(('%d\n'):format(seed))
      out:close()
    end
    if seed % 50 == 0 then collectgarbage() end
  end
  print(('programs %d to %d of %d: %d checks, %d failed'):format(first, seed - 1, o.count, checks, failed))
  os.exit(failed == 0 and 0 or 1)
end

if arg and arg[0] and arg[0]:match 'soak/programs%.lua$' then main(arg) end

return M
