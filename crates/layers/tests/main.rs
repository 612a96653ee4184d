//! All integration tests of this crate in one program: a module for each behaviour.

mod support;

mod certificates_are_checked;
mod layers_say_the_same_in_any_portions;
mod nothing_comes_between_starttls_and_tls;
