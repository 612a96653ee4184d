//! All integration tests of this crate in one program: a module a behaviour.

mod support;

mod a_client_is_known_by_its_certificate;
mod a_new_certificate_is_served_live;
mod compression_begins_behind_what_was_said;
mod compression_is_the_same_in_any_portions;
mod long_answers_come_to_their_end;
mod slow_jobs_have_a_bound;
mod sockets_listen_where_they_are_told;
mod tls_says_the_same_in_any_portions;
mod tls_survives_garbage;
