//! All integration tests of this crate in one program: a module a behaviour.

mod site;

mod every_post_is_accepted_by_the_relay_or_refused;
mod posts_become_articles;
