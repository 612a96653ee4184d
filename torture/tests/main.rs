//! Power cuts and faults of the disk below real file systems, with the real binary above them.

mod bad_sectors_cost_one_article;
mod feeds_skip_nothing;
mod power_cuts_lose_nothing;
mod without_syncs_losses_are_seen;
mod write_errors_lose_nothing;
