//! All integration tests of this crate in one program: a module a behaviour.

mod faults_of_access_name_their_place;
mod floods_are_held_back;
mod people_log_in_with_passwords_and_certificates;
mod programs_answer_as_for_inn;
mod rates_are_kept;
mod sasl_withstands_anything;
mod scram_as_in_the_rfc;
mod the_first_entry_that_fits_counts;
mod users_are_kept_safely;
