--- mascon.meeg: recordings of the electric and magnetic fields of the brain, as a domain of its own.
--
-- The public table: open(path) for any file, channels (tables of types, units, positions), raw (continuous recordings), events, epochs. Every
-- function is defined and documented in the file of its concept and loads when touched. Owns nothing.
return require('mascon.lazy').table('mc.meeg', { ['mascon.meeg.files'] = { 'open' } }, {
  channels = 'mascon.meeg.channels', raw = 'mascon.meeg.raw', events = 'mascon.meeg.events', epochs = 'mascon.meeg.epochs',
})
