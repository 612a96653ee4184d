//! All integration tests of this crate in one program: a module a behaviour.

mod faults_of_access_name_their_place;
mod site_tables;
mod sites_of_both_files;
mod tables_are_the_same_policy;
mod the_first_entry_that_fits_counts;
