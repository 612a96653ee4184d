//! All integration tests of this crate in one program: a module a behaviour.

mod log;
mod planted;
mod waiting;

mod a_batch_is_done_with_when_it_was_taken;
mod a_missing_object_stops_a_feed;
mod a_reset_site_forgets_what_it_deferred;
mod batches_wait_in_a_directory;
mod batchparms_says_how;
mod cursors_go_from_node_to_node;
mod every_site_gets_its_articles_once;
mod lists_of_articles_are_whole;
mod programs_get_what_waits;
mod sites_are_taken_up_by_who_files;
mod trees_have_every_article;
mod trees_lose_what_is_gone;
