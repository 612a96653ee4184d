//! All integration tests of this crate in one program: a module a behaviour.

mod floods_are_held_back;
mod people_log_in_with_passwords_and_certificates;
mod programs_answer_as_for_inn;
mod rates_are_kept;
mod sasl_withstands_anything;
mod scram_as_in_the_rfc;
mod users_are_kept_safely;
