//! Moving in from other news systems.

mod a_classic_history_comes_over;
mod cnews_moves_in;
mod diablo_moves_in;
mod expire_ctl_is_imported;
mod inn_moves_in;
mod mailboxes_are_imported;
