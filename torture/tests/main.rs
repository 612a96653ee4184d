//! Power cuts and faults of the disk below real file systems, with the real binary above them.

mod without_syncs_losses_are_seen;
