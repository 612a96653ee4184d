//! Commands, their help, settings, packages.

mod a_closed_pipe_is_quiet;
mod check_explains_what_is_in_force;
mod completions_work_in_their_shells;
mod defaults_are_safe;
mod help_comes_from_the_tables;
mod histinfo_tells_the_lines_of_names;
mod init_makes_a_news_directory;
mod limits_are_all_printed;
mod long_work_shows_its_progress;
mod manual_pages_are_clean;
mod packages_are_whole;
mod parsers_withstand_anything;
mod programs_answer_to_their_own_name;
mod settings_faults_name_their_place;
mod setup_makes_a_running_server;
mod the_command_line_is_checked;
mod the_tutorial_works;
mod units_are_clean;
