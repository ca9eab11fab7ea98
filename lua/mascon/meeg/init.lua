--- mascon.meeg: recordings of the electric and magnetic fields of the brain, as a domain of its own.
--
-- The public table: channels (tables of types, units, positions), raw (continuous recordings in the files labs have), events, epochs.
-- Every function is defined and documented in the file of its concept and loads when touched. Owns nothing.
return require('mascon.lazy').table('mc.meeg', {}, {
  channels = 'mascon.meeg.channels', epochs = 'mascon.meeg.epochs',
})
