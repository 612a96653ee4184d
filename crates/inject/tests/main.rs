//! All integration tests of this crate in one program: a module a behaviour.

mod room;

mod posts_become_articles;
mod whatever_is_posted_the_relay_takes_it_or_it_is_refused;
