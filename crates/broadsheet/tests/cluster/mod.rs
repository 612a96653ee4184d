//! Nodes that share a log.

mod a_node_with_a_full_disk_goes_on;
mod articles_are_taken_down_in_a_cluster;
mod feeds_move_between_nodes;
mod new_decisions_wait_for_all_nodes;
mod nodes_are_backed_up;
mod nodes_are_reseeded;
mod nodes_meet_faults;
mod nodes_of_a_cluster_agree;
mod nodes_that_differ_come_back;
mod nodes_that_differ_in_removals_stop;
mod servers_accept_no_stranger;
mod settings_change_in_a_cluster;
mod the_corpus_goes_through_three_nodes;
