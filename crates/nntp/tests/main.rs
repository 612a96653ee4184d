//! All integration tests of this crate in one program: a module a behaviour.

mod backend;
#[path = "../../groups/tests/shared/mod.rs"]
mod shared;

mod a_login_in_progress_holds_everything_back;
mod any_bytes_in_any_portions;
mod capabilities_tell_what_works;
mod closed_groups_do_not_show;
mod it_agrees_with_inn;
mod long_answers_are_written_in_turns;
mod peers_send;
mod readers_list_groups;
mod readers_read_articles;
mod readers_see_overview;
mod who_does_not_read_gets_no_more;
mod who_guesses_passwords_is_sent_away;
