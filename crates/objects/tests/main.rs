//! The integration tests of this crate, as one program.

mod a_bucket_keeps_objects;
mod a_dripping_server_is_given_up;
mod azure_names_the_account_in_the_host;
mod azure_server;
mod bucket_server;
mod faults_name_their_setting;
mod moto_server;
mod odd_objects_are_told_apart;
mod requests_suit_google;
mod s3_server;
