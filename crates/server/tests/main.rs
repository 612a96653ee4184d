//! All integration tests of this crate in one program: a module for each behaviour.

mod support;

mod a_client_is_known_by_its_certificate;
mod a_new_certificate_is_served_live;
mod a_stale_server_sends_clients_away;
mod compression_begins_after_unsent_replies;
mod compression_is_the_same_in_any_portions;
mod long_replies_finish;
mod network_threads_answer;
mod posts_keep_nobody_out;
mod slow_jobs_are_bounded;
mod sockets_listen_on_configured_addresses;
mod tls_says_the_same_in_any_portions;
mod tls_survives_garbage;
