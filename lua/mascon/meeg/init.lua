-- meeg/init.lua - recordings of the electric and magnetic fields of the brain, as a domain of its own.
--
-- The public table: open(path) for any file, channels (tables of types, units, positions), raw (continuous recordings),
-- events, epochs; montage (positions by name), sphere, spline and field (interpolation between electrodes, between
-- coils), coils, repairer, scalp (maps). Every function is defined and documented in the file of its concept and loads
-- when touched.
return require('mascon.core.lazy').table('mc.meeg', { ['mascon.meeg.files'] = { 'open' } }, {
  channels = 'mascon.meeg.channels', raw = 'mascon.meeg.raw', events = 'mascon.meeg.events',
  epochs = 'mascon.meeg.epochs', coils = 'mascon.meeg.coils', field = 'mascon.meeg.field',
  montage = 'mascon.meeg.montage', repairer = 'mascon.meeg.repairer', scalp = 'mascon.meeg.scalp',
  sphere = 'mascon.meeg.sphere', spline = 'mascon.meeg.spline',
})
