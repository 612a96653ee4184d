//! The integration tests of this crate, as one program.

mod a_bucket_keeps_objects;
mod faults_name_their_setting;
mod s3_server;
