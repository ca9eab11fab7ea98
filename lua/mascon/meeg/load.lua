-- load.lua - mc.load, mc.open and mc.save with the recordings of EEG and MEG among the formats.
local io_ = require 'mascon.io'

function io_.recordings() return require 'mascon.meeg.files' end

return io_
