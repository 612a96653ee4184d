//! All integration tests of this crate in one program: a module for each behaviour.

mod backend;
#[path = "../../groups/tests/shared/mod.rs"]
mod shared;

mod a_full_output_buffer_stops_the_session;
mod a_pending_login_blocks_all_commands;
mod a_pipeline_yields;
mod any_bytes_in_any_portions;
mod articles_may_have_to_be_fetched;
mod capabilities_show_what_is_available;
mod closed_groups_do_not_show;
mod failed_logins_close_the_connection;
mod long_replies_yield;
mod peers_transfer_articles;
mod readers_list_groups;
mod readers_read_articles;
mod readers_see_overview;
mod tables_from_inn;
