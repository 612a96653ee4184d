//! All integration tests of this crate in one program: a module a behaviour.

mod decisions;
mod newsdir;

mod a_batch_that_cannot_be_filed;
mod a_site_met_later_is_chosen_for_as_on_filing;
mod acceptance_order;
mod announced_articles;
mod bad_batches_are_kept;
mod cancel_locks_are_those_of_inn;
mod cancels;
mod control_messages_act;
mod explaining;
mod filed_as_sent_but_path_and_xref;
mod filed_groups;
mod hidden_lines_are_refused;
mod local_articles;
mod locked_cancels;
mod log_lines;
mod mirroring;
mod moderation;
mod nodes_count_the_same_changes;
mod own_limits;
mod runs_over_batches;
mod sites_that_get_it;
