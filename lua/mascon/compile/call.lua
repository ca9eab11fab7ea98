-- call.lua - the flat call: arguments of a known form go to the plan without strings, tables or copies.
--
-- A form remembers where the leaves of its arguments stand (a tree per argument) and holds the C lists that a call
-- fills; dtypes and layouts are compared in C against the plan's own. Holds the trees and the lists.
local ffi = require 'ffi'
local aliases = require 'mascon.compile.aliases'
local lib = require 'mascon.core.ffi'
local objects = require 'mascon.compile.objects'
local tensor = require 'mascon.core.tensor'
local random = require 'mascon.random.key'
local trees = require 'mascon.graph.tree'
local C = lib.C

local clear = require 'table.clear'

local M = {}

local ct, istype, new, finish = tensor.ct, tensor.istype, tensor.new, tensor.finish
local handles, doubles, halves = ffi.typeof 'mc_tensor *[?]', ffi.typeof 'double *', ffi.typeof 'uint32_t *'
local TENSOR, NUMBER, KEY = 1, 2, 3
local WHOLE, FRACTION = 4, 5 -- numbers whose kind decides a dtype

-- ---------------------------------------------------------------- trees

--- Whether a number counts as an integer beside integers: larger ones make f64 of them.
function M.whole(v) return v % 1 == 0 and v > -9.3e18 and v < 9.3e18 end

--- The tree of an argument: TENSOR, NUMBER, WHOLE, FRACTION, KEY, { fixed = value }, { number = value } or { keys,
--- subs }, leaves in the order of sorted keys.
local function tree_of(v, static, path, numbers)
  if tensor.is(v) then return TENSOR end
  if type(v) == 'number' and not static then
    if numbers == 'exact' then return { number = v } end
    return numbers and (M.whole(v) and WHOLE or FRACTION) or NUMBER
  end
  if random.is_key(v) then return KEY end
  path = path or {}
  if not trees.is_branch(v) or path[v] then return { fixed = v, look = objects.look(v) } end
  path[v] = true
  local t = { keys = trees.keys(v), subs = {}, class = getmetatable(v) }
  for i, k in ipairs(t.keys) do t.subs[i] = tree_of(rawget(v, k), static, path, numbers) end
  path[v] = nil
  return t
end

--- Puts the leaves of v where the call wants them, from place `at` on; the next place, or nil when v has another form.
local function place(form, lists, tree, v, at)
  if tree == TENSOR then
    if type(v) ~= 'cdata' or not istype(ct, v) then return nil end
    lists.ins[at] = v
    return at + 1
  elseif tree == NUMBER then
    if type(v) ~= 'number' then return nil end
    lists.numbers[at][0] = v
    return at + 1
  elseif tree == WHOLE or tree == FRACTION then
    if type(v) ~= 'number' or M.whole(v) ~= (tree == WHOLE) then return nil end
    lists.numbers[at][0] = v
    return at + 1
  elseif tree == KEY then
    if not random.is_key(v) then return nil end
    local words, number = rawget(v, '_words'), form.devices[at]
    if not words then
      local p, own = lists.numbers[at], rawget(v, '_device')
      if not p or own and own ~= number then return nil end -- several keys were traced
      p[0], p[1] = v.lo, v.hi
      words = lists.cells[at + 1]
    end
    if number and words._device == 0 then -- it goes where the other arguments are
      words = tensor.moved(words, number, 3)
      lists.moved[at] = words
    end
    lists.ins[at] = words
    return at + 1
  elseif tree.keys then
    if type(v) ~= 'table' or getmetatable(v) ~= tree.class then return nil end
    local keys, subs = tree.keys, tree.subs
    for i = 1, #keys do
      at = place(form, lists, subs[i], rawget(v, keys[i]), at)
      if not at then return nil end
    end
    local count = 0
    for _ in next, v do count = count + 1 end
    return count == #keys and at or nil
  end
  if tree.number then
    if tree.number ~= v then return nil end
    lists.numbers[at][0] = v
    return at + 1
  end
  local fixed = tree.fixed
  if tree.look and not objects.same(tree.look) then return nil end
  if rawequal(v, fixed) or (v ~= v and fixed ~= fixed) then return at end
  -- complex numbers are values
  if type(v) == 'cdata' and type(fixed) == 'cdata' and tostring(v) == tostring(fixed) then return at end
end

-- ---------------------------------------------------------------- forms

--- The lists of one call of a form: operands, results, and the cells of its numbers and keys. A call takes them and
--- puts them back when C is done; a finalizer or a debug hook that calls the function meanwhile finds none, and gets
--- others.
local function lists_of(form)
  local lists = { ins = handles(form.nin + 1), outs = handles(form.nout + 1), numbers = {}, cells = {}, moved = {} }
  for i = 1, form.nin do
    local kind = form.kinds[i]
    if kind == NUMBER then
      local cell = tensor.empty('compile', {}, 'f64', 2)
      cell._flags = 256
      lists.cells[i], lists.numbers[i - 1], lists.ins[i - 1] = cell, ffi.cast(doubles, cell._data), cell
    elseif kind == KEY then
      local cell = tensor.empty('compile', {}, 'i64', 2)
      lists.cells[i], lists.numbers[i - 1] = cell, ffi.cast(halves, cell._data)
    end
  end
  return lists
end

local function take(form)
  local lists = form.lists
  if lists then form.lists = nil else lists = lists_of(form) end
  return lists
end

---@class mascon.Form
---@field n integer arguments
---@field single boolean one tensor comes back

--- A form of a plan.
---@param plan table plan (C), outputs = { { shape, dtype } }
---@param args any[] arguments of the first call
---@param leaves any[] tensors, words of keys and numbers among them
---@param options table n, static (by position), results = { n =, ... }, classes (of outside.classes: their leaves
--- come last)
function M.form(plan, args, leaves, options)
  local form = { n = options.n, plan = plan, classes = options.classes, trees = {}, kinds = {},
    results = options.results, static = options.static, places = plan.places, flat = true }
  for i = 1, options.n do
    form.trees[i] = tree_of(args[i], options.static[i], nil, options.numbers)
    form.flat = form.flat and type(form.trees[i]) == 'number'
  end
  for i, c in ipairs(form.classes) do form.trees[options.n + i] = tree_of(c, true) end
  local nout = #plan.outputs
  form.nin, form.nout = #leaves, nout
  form.devices = {} -- of operands that are not on the CPU, from 0
  for i, v in ipairs(leaves) do
    form.devices[i - 1] = type(v) ~= 'number' and v._device ~= 0 and v._device or nil
    -- an i64 of no axes may be a key, whose halves come as numbers
    form.kinds[i] = type(v) == 'number' and NUMBER or v._dtype == tensor.code.i64 and v._ndim == 0 and KEY or TENSOR
  end
  form.lists = lists_of(form)
  form.cells = form.lists.cells
  local likes, keep = handles(#leaves + nout + 1), {}
  for i, v in ipairs(leaves) do
    local like = ct(1)
    if type(v) == 'number' then -- a device looks at it: of integers it decides dtypes
      form.lists.numbers[i - 1][0] = v
      v = form.cells[i]
    end
    ffi.copy(like, v, ffi.sizeof(ct, 0))
    keep[i] = like
    likes[i - 1] = like
  end
  form.words = {}
  local likes_out = handles(nout + 1)
  for i, o in ipairs(plan.outputs) do
    local like, n = ct(0), 1
    like._dtype, like._ndim = tensor.code[o.dtype], #o.shape
    for d, s in ipairs(o.shape) do
      like._shape[d - 1] = s
      n = n * s
    end
    local bytes = n * tensor.size[o.dtype]
    form.words[i] = bytes <= 1024 and math.ceil(bytes / 8) or 0
    keep[#keep + 1] = like
    likes_out[i - 1] = like
  end
  lib.check(C.mc_plan_form(plan.plan, form.nin, likes, nout, likes_out), 2) -- copies them
  clear(keep)
  local r = options.results
  form.single = r.n == 1 and r[1] == aliases.TENSOR and not plan.places
  return form
end

local function result(form, lists, i)
  local words = form.words[i]
  local t = new(ct, words)
  t._capacity = words * 8
  t._dtype = -1
  lists.outs[i - 1] = t
  return t
end

local OTHER = -1

--- Results of the arguments that were placed: a tensor when the form has a single one, else a list; nil when an
--- argument has another layout.
local function run(form, lists)
  if form.single then
    local t = result(form, lists, 1)
    local rc = C.mc_plan_call(form.plan.plan, lists.ins, lists.outs)
    form.lists = lists
    if rc == 0 then
      if t._storage ~= nil then return finish(t) end
      return t
    end
    if rc == OTHER then return nil end
    return false, rc
  end
  local outs = {}
  for i = 1, form.nout do outs[i] = result(form, lists, i) end
  local rc = C.mc_plan_call(form.plan.plan, lists.ins, lists.outs)
  form.lists = lists
  if rc == OTHER then return nil end
  if rc ~= 0 then return false, rc end
  for i = 1, form.nout do
    if outs[i]._storage ~= nil then finish(outs[i]) end
  end
  return outs
end

--- Puts n arguments where the call wants them; false when they have another form.
local function place_all(form, lists, n, a, b, c, d, ...)
  local list, at = form.trees, 0
  if n > 4 then
    local args = { a, b, c, d, ... }
    for i = 1, n do
      at = place(form, lists, list[i], args[i], at)
      if not at then return false end
    end
  else
    if n > 0 then at = place(form, lists, list[1], a, at) end
    if n > 1 and at then at = place(form, lists, list[2], b, at) end
    if n > 2 and at then at = place(form, lists, list[3], c, at) end
    if n > 3 and at then at = place(form, lists, list[4], d, at) end
  end
  local classes = form.classes
  if not at or #classes == 0 then return at ~= nil end
  for i = 1, #classes do
    at = place(form, lists, list[n + i], classes[i], at)
    if not at then return false end
  end
  return true
end

--- Calls a form: its tensor or list of tensors; nil when the arguments have another form; false and a status when it
--- failed.
function M.try(form, n, ...)
  if n ~= form.n then return nil end
  local lists = take(form)
  if not place_all(form, lists, n, ...) then
    form.lists = lists
    return nil
  end
  return run(form, lists)
end

--- Calls a form with its results written to a list of tensors: that list; else as try.
function M.into(form, outs, n, ...)
  if form.places or #outs ~= form.nout or n ~= form.n then return nil end
  local lists = take(form)
  if not place_all(form, lists, n, ...) then
    form.lists = lists
    return nil
  end
  for i = 1, form.nout do lists.outs[i - 1] = outs[i] end
  local rc = C.mc_plan_into(form.plan.plan, lists.ins, lists.outs)
  form.lists = lists
  if rc == 0 then return outs end
  if rc == OTHER then return nil end
  return false, rc
end

return M
