--- mascon.meeg: recordings of the electric and magnetic fields of the brain, as a domain of its own.
--
-- The public table: open(path) for any file, channels (tables of types, units, positions), raw (continuous recordings), events, epochs;
-- montage (positions by name), sphere, spline (interpolation between sensors), scalp (maps). Every function is defined and documented in the
-- file of its concept and loads when touched. Owns nothing.
return require('mascon.lazy').table('mc.meeg', { ['mascon.meeg.files'] = { 'open' } }, {
  channels = 'mascon.meeg.channels', raw = 'mascon.meeg.raw', events = 'mascon.meeg.events', epochs = 'mascon.meeg.epochs',
  montage = 'mascon.meeg.montage', scalp = 'mascon.meeg.scalp', sphere = 'mascon.meeg.sphere', spline = 'mascon.meeg.spline',
})
