"""What a run left: tables, the files of its folder, facts of its scenario, how it ended."""
