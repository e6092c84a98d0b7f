"""What the build with every size at its least (base/tunables.h, `make check-small`) is not asked."""

# Arrays that are large so that they reach the sizes as they are released, or a limit that is none of them: with the least they
# take minutes.
LARGE = {
    "numpy/test_calc.py": "test_operands_too_large_to_hold",
    "numpy/test_compare.py": "test_forty_megabytes test_layouts",
    "numpy/test_histogram.py": "test_large_arrays_are_read_in_blocks",
    "numpy/test_numpy_rows.py": "test_shapes_that_need_many_blocks",
    "numpy/test_numpy_slices.py": "test_slices_of_many_blocks",
    "numpy/test_quantiles.py": "test_axes_of_large_arrays test_large_arrays test_large_structured_arrays test_slices_of_large_arrays "
    "test_quantiles_by_label_of_many_items test_more_labels_than_are_found_at_once test_a_file_that_changes_between_the_passes_of_medians_by_label",
    "numpy/test_sketch.py": "test_merged_ones_are_within_the_bound test_one_array_is_off_by_a_run_at_most test_threads_do_not_matter",
    "numpy/test_stats.py": "test_large_arrays_with_another_thread",
    "numpy/test_stats_by.py": "test_every_number_of_threads_gives_the_same_bits test_more_labels_than_results_are_kept_of_at_a_time",
    "numpy/test_tunables.py": "test_the_middle_of_a_large_sorted_array",
    "numpy/test_unique.py": "test_large_arrays",
    "numpy/test_vectors.py": "test_more_rows_within_a_distance_than_are_kept",  # NPYX_MAX_NHITS, which no size changes
    "queries/test_planned.py": "test_a_filter_over_megabytes_changes_no_answer test_a_million_lookups_open_one_file",
    "queries/test_tables.py": "test_seeks_give_what_full_scans_give",
    "reading/test_cores.py": "test_a_statistic_of_rows_that_lie_apart_depended_on_the_number_of_threads test_comparisons_are_the_same_to_the_last_bit "
    "test_statistics_histograms_and_filters_are_the_same_to_the_last_bit test_two_cursors_in_one_archive_do_not_meet "
    "test_deflated_members_are_inflated_ahead_and_give_what_zipfile_gives test_a_damaged_member_among_those_inflated_ahead_is_told_where_it_stands",
    "reading/test_tar_arrays.py": "test_rows_of_a_large_compressed_tar",
    "sql/test_library.py": "test_no_query_is_quadratic",
    "writing/test_archives_written.py": "test_large_members_in_every_order test_more_entries_than_a_zip_has_numbers_for",
    "writing/test_model.py": "test_files_hold_what_the_model_says",
    "writing/test_npy_write.py": "test_killed_at_random_moments test_large_arrays_take_little_memory test_two_writers_of_one_path test_blobs_are_published_as_they_are",
    "writing/test_round_trips.py": "test_an_npz_deflated_in_its_own_place",
    "writing/test_writers_rules.py": "test_a_zip_of_more_entries_than_16_bits_count test_a_zip_of_fewer_entries_has_the_old_end",
    "writing/test_writing_defects.py": "test_an_array_that_fails_half_way_where_zip64_begins",
    "writing/test_writing_tables.py": "test_constant_memory",
}

# Bytes, calls, memory or waits are counted, which these sizes decide.
COUNTS = {
    "numpy/test_histogram.py": "test_memory_does_not_grow_with_the_array",
    "numpy/test_objects.py": "test_the_pickle_is_read_once",
    "numpy/test_pictures.py": "test_a_picture_takes_no_more_memory_than_it_is",
    "numpy/test_quantiles.py": "test_memory_is_bounded test_median_alone_reads_no_more_than_it_needs test_one_pass_mostly test_medians_by_label_read_the_file_a_few_times",
    "numpy/test_scalars.py": "test_files_are_opened_once",
    "numpy/test_stats.py": "test_only_what_is_asked_for_is_read",
    "numpy/test_tunables.py": "test_objects_are_kept_while_there_is_room",
    "queries/test_interrupt.py": "test_an_interrupted_walk_through_a_tar_loses_nothing",
    "queries/test_planned.py": "test_a_text_is_sought_without_a_step_for_each_row",
    "queries/test_sample_tables.py": "test_a_look_up_by_key_is_one_read test_directories_that_do_not_fit_are_read_anew test_samples_in_order_are_read_together "
    "test_an_interrupt_while_a_shard_is_read",
    "queries/test_tables.py": "test_joins",
    "reading/test_cores.py": "test_few_descriptors_are_enough",
    "reading/test_gguf.py": "test_only_the_blocks_asked_for_are_read",
    "reading/test_pickles.py": "test_the_length_at_which_an_array_stays test_long_arrays_stay_in_the_file test_joblib_is_read_in_place",
    "reading/test_random_access.py": "",  # all of it
    "reading/test_reads.py": "",
    "reading/test_remote.py": "test_a_file_takes_two_calls_and_none_again test_a_survey_asks_for_many_files_at_once test_a_list_asks_once_for_many_files "
    "test_headers_of_an_npz_are_asked_for_together test_a_large_safetensors_file_is_surveyed_by_its_header test_a_search_for_nan_reads_each_byte_once "
    "test_a_checkpoint_is_surveyed_by_its_directory_and_pickle test_a_sample_by_its_range_is_one_read test_statistics_double_what_they_ask_for "
    "test_a_look_up_reads_its_block_alone test_a_shard_without_an_index_is_read_through_once test_large_members_of_a_shard_are_not_read "
    "test_a_look_up_after_a_survey_knows_the_file test_first_bytes_of_large_files_are_not_asked_for_too_early test_one_tensor_of_many_is_not_read_beyond_its_end test_what_is_kept_is_bounded "
    "test_no_call_asks_for_more_than_sqlite_can_return test_what_is_no_pattern test_a_host_that_asks_npyext_itself_is_refused "
    "test_an_interrupt_during_a_call_is_noticed_after_it test_one_bad_url_does_not_end_a_survey",
    "reading/test_tunables_read.py": "test_deflated_members_are_read_by_other_threads_in_whole test_small_arrays_are_read_once_for_many_look_ups",
    "reading/test_what_is_read.py": "",
    "writing/test_writers_rules.py": "test_nested_savepoints_of_an_archive_are_cheap",
    "reading/test_zip_directory.py": "test_a_small_archive_is_one_read_and_the_look_at_its_beginning test_the_directory_is_read_in_whole_blocks",
}

# What the release asks of this build in its own run of the suite, or what is about SQLite's plans, whatever the sizes.
ELSEWHERE = {
    "numpy/test_calc.py": "test_random_expressions",
    "numpy/test_same.py": "",
    "queries/test_comparisons.py": "",
    "queries/test_constants.py": "",
}


def is_left_out(nodeid):
    file, _, test = nodeid.partition("::")
    names = [listed[file].split() for listed in (LARGE, COUNTS, ELSEWHERE) if file in listed]
    return any(not some or test.partition("[")[0] in some for some in names)
