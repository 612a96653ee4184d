//! All integration tests of this crate in one program: a module a behaviour.

mod agree;
mod double;
mod news;
mod story;

mod a_bad_sector_is_damage_of_what_lies_there;
mod a_disk_without_holes_waits;
mod a_new_group_is_seen_live;
mod a_reader_finishes_a_recovery;
mod a_reader_outlives_sealing;
mod an_older_index_is_made_again;
mod cancelled_and_expired_articles_vanish_live;
mod commits_are_seen_after_catching_up;
mod crowded_buckets;
mod damage;
mod damaged_commit;
mod damaged_rows_are_left_out;
mod derived_files_are_not_believed_blindly;
mod disk_faults;
mod expire_meets_faults;
mod failed_sync;
mod failed_sync_is_made_good;
mod file_and_read;
mod files_are_not_cut_under_readers;
mod kill;
mod low_marks_tell_what_is_there;
mod names_are_synced;
mod new_articles_are_told_in_the_order_they_came;
mod power_cut;
mod replay_is_short;
mod stacks_agree_with_a_reader;
mod stacks_read_on_while_others_file;
mod stacks_read_on_while_space_is_given_back;
mod the_lock_is_lent;
mod the_log_is_followed;
mod what_was_filed_on_loan_is_seen_live;
